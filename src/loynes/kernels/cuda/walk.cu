// The walk of an arrival process that has a memory: what jobs begin .. end-1 of every row will read (walked.cuh). A
// thread walks a row, from job to job; ahead from the place at `begin`, or, in the past (begin < 0), back from that at
// `end`. Whoever reads may be a thread or a warp a row.
#include "arrivals.cuh"

constexpr int LANES = 1;
// Jobs whose words are drawn before any of them moves the process: places wait for one another, words do not.
constexpr int TOGETHER = SESSIONS ? 1 : 4;

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
    const int step = begin >= 0 ? 1 : -1;
    Index n = begin >= 0 ? begin : end - 1;
    for (Index left = end - begin; left > 0; left -= TOGETHER) {
        Walker::Drawn job[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i) job[i] = walker.drawn(n + i * step);
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i, n += step) {
            const Index here = x;
            const double between = step > 0 ? walker.ahead(n, job[i], x) : walker.behind(n, job[i], x);
            if (keep) kept.note(n, between, step > 0 ? here : x);
        }
    }
    places[row] = x;
}
