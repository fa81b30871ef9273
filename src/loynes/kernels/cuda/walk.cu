// The walk of an arrival process that has a memory: what jobs begin .. end-1 of every row will read (walked.cuh). A
// thread walks a row, from job to job; ahead from the place at `begin`, or, in the past (begin < 0), back from that at
// `end`. Whoever reads may be a thread or a warp a row.
#include "arrivals.cuh"

constexpr int LANES = 1;

__device__ __forceinline__ Index team() { return (Index)blockIdx.x * THREADS + threadIdx.x; }

struct Kept {
    Real *gap;
    int *told;
    Index at, by_job;

    __device__ __forceinline__ void note(Index n, double between, Index x) const {
        const Index place = at + n * by_job;
        if (!SATURATED) gap[place] = (Real)between;
        if (TOLD) {
            const Index m = arrivals.phases;
            told[place] = (int)(SESSIONS ? x % m + m * (x / m % arrivals.sizes) : x % m);
        }
    }
};

// With `keep` gaps and what there is to tell of places are written, else only the places at the other end.
extern "C" __global__ void __launch_bounds__(THREADS)
walk(unsigned stream, const unsigned *replicas, Index begin, Index end, int rows, int keep, Index *places, Real *gap,
     int *told, Index by_row, Index by_job) {
    const Index row = team();
    if (row >= rows) return;
    const Walker walker{stream, replicas[row]};
    const Kept kept{gap, told, row * by_row - begin * by_job, by_job};
    Index x = places[row];
    if (begin >= 0) {
        for (Index n = begin; n < end; ++n) {
            const Index here = x;
            const double between = walker.ahead(n, x);
            if (keep) kept.note(n, between, here);
        }
    } else {
        for (Index n = end - 1; n >= begin; --n) {
            const double between = walker.behind(n, x);
            if (keep) kept.note(n, between, x);
        }
    }
    places[row] = x;
}
