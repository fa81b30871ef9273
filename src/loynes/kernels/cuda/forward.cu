// Forward chains: replicas of the recurrence over a range of jobs, observed at every block's start.
#include "state.cuh"

// Bins of waits as in kernels/tally.py: the leading bits of wait / unit.
__device__ __forceinline__ int bin_of(float wait) {
    return (__float_as_int(wait) >> (23 - BIN_BITS)) - ((127 + LOWEST_OCTAVE) << BIN_BITS);
}
__device__ __forceinline__ int bin_of(double wait) {
    return (int)(__double_as_longlong(wait) >> (52 - BIN_BITS)) - ((1023 + LOWEST_OCTAVE) << BIN_BITS);
}

// Sums of a replica, [need][row]; bins of a group of replicas, [group][need][bin], without the waits of 0.
struct Tally {
    Real per_unit;
    int rows;
    double *wait, *square;
    unsigned *none;
    unsigned *bins;

    __device__ __forceinline__ void note(Index row, int k, Real w) const {
        const Index at = k * (Index)rows + row;
        wait[at] += w;
        square[at] += (double)w * w;
        if (w == 0) {
            none[at] += 1;
        } else {
            const int place = bin_of(w * per_unit);
            atomicAdd(&bins[k * BINS + min(max(place, 0), BINS - 1)], 1u);
        }
    }
};

template <int K = 0> __device__ __forceinline__ void look(const State &state, const Tally &tally, Index row, Real kept) {
#if FORM == FORM_FRONT || FORM == FORM_RUNS && KINDS == 1
    for (int k = lane(); k < NEEDS; k += 32) tally.note(row, k, state.at(far_table.needs[k]));
#else
#if PLAIN
    const Real w = state.template at<NEED[K]>();
#else
    const Real w = state.template at_need<K>();
#endif
    if (LANES == 1) {
        tally.note(row, K, w);
    } else {
        // Lane k keeps what concerns need k.
        if (lane() == K % 32) kept = w;
        if ((K % 32 == 31 || K + 1 == NEEDS) && lane() <= K % 32) tally.note(row, K - K % 32 + lane(), kept);
    }
    if constexpr (K + 1 < NEEDS) look<K + 1>(state, tally, row, kept);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
forward(unsigned stream, const unsigned *replicas, Index begin, Index end, int rows, int observe,
        Real *W, const Real *looked, Real per_unit, const int *group, double *wait, double *square, unsigned *none,
        double *loss, unsigned *bins) {
    const Index row = team();
    if (row >= rows) return;
    State state;
    const Jobs jobs = begin_team(stream, state);
    state.put(W + row * SERVERS);
    const unsigned replica = replicas[row];
    const Tally tally{per_unit, rows, wait, square, none, bins + (Index)group[row] * NEEDS * BINS};
    double lost[KINDS] = {};
    for (Index first = begin; first < end; first += BLOCK) {
        begin_block(jobs, replica, first, state);
        if (observe) {
            look(state, tally, row, Real(0));
            add_losses(state, looked, lost);
        }
        Real now = 0;
        jobs.each(replica, first, [&](const Job &job, bool prepared) ALWAYS_INLINE {
            state.step(job.need, now, job.service, prepared);
            now += job.gap;
        }, state);
        state.rebase(now);
    }
    state.get(W + row * SERVERS);
    if (observe) give_losses(state, row, lost, loss);
}
