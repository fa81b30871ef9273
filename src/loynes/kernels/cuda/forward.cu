// Forward chains: replicas of the recurrence over a range of jobs, observed at every block's start.
#include "weighing.cuh"

#if WEIGHED
typedef double Count;
typedef unsigned long long Bin;  // sums of weights as whole numbers, so that their order does not matter
#else
typedef unsigned Count, Bin;
#endif

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
    Count *none;
    Bin *bins;

#if WEIGHED
    // A wait, or a response, that counts `more` times; `counted` is that as a whole number.
    __device__ __forceinline__ void weigh(Index row, int k, Real w, double more, Bin counted, bool response) const {
        const Index at = k * (Index)rows + row;
        wait[at] += more * w;
        square[at] += more * w * w;
        if (w == 0 && !response) {
            none[at] += more;
        } else {
            const int place = bin_of(w * per_unit);
            atomicAdd(&bins[k * BINS + min(max(place, 0), BINS - 1)], counted);
        }
    }
#else
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
#endif
};

#if WEIGHED
// What arrivals of every class see; what a class sees counts as much as it is likelier here.
template <int K = 0>
__device__ __forceinline__ void look(const State &state, const Tally &tally, Index row, const Seen &seen) {
#if KINDS > 1
    const Real w = state.template at_need<K>();
#elif FORM == FORM_FRONT || FORM == FORM_RUNS
    const Real w = state.at(far_table.needs[K]);
#else
    const Real w = state.template at<NEED[K]>();
#endif
    const Index weights = (Index)seen.weights * weighing.columns;
    for (int k = weighing.first[K] + (int)lane(); k < weighing.first[K + 1]; k += LANES) {
        const double more = weighing.more[weights + k];
        const Bin counted = weighing.counted[weights + k];
        tally.weigh(row, k, w, more, counted, false);
        // In sessions a job's own service hangs together with its wait.
        if (SESSIONS && weighing.of_class[seen.job_class] == k)
            tally.weigh(row, weighing.columns + k, w + seen.service, more, counted, true);
    }
    if constexpr (K + 1 < NEEDS) look<K + 1>(state, tally, row, seen);
}
#else
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
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
forward(unsigned stream, const unsigned *replicas, Index begin, Index end, int rows, int observe,
        Real *W, const Real *looked, Real per_unit, const int *group, double *wait, double *square, Count *none,
        double *loss, Bin *bins) {
    const Index row = team();
    if (row >= rows) return;
    State state;
    const Jobs jobs = begin_team(stream, state);
    state.put(W + row * SERVERS);
    const unsigned replica = replicas[row];
    const Tally tally{per_unit, rows, wait, square, none, bins + (Index)group[row] * COLUMNS * BINS};
    double lost[KINDS] = {};
    for (Index first = begin; first < end; first += BLOCK) {
        begin_block(jobs, replica, first, state);
        if (observe) {
#if WEIGHED
            const Seen seen = seen_at(jobs, replica, first);
            look(state, tally, row, seen);
            add_losses(state, looked + seen.weights * (Index)weighing.looked, lost);
#else
            look(state, tally, row, Real(0));
            add_losses(state, looked, lost);
#endif
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
