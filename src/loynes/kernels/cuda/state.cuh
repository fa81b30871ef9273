// The form of the state that the shape asks for, and the team that runs a replica in it.
#pragma once
#if FORM == FORM_THREAD
#include "thread.cuh"
#elif FORM == FORM_WARP
#include "warp.cuh"
#elif FORM == FORM_FRONT
#include "front.cuh"
#elif FORM == FORM_THREAD_KINDS
#include "thread_kinds.cuh"
#elif FORM == FORM_WIDE_KINDS
#include "wide_kinds.cuh"
#elif FORM == FORM_RANDOM_THREAD
#include "random_thread.cuh"
#elif FORM == FORM_RANDOM_WARP
#include "random_warp.cuh"
#else
#include "runs.cuh"
#endif

constexpr int TEAMS = THREADS / LANES;  // a block

extern __shared__ __align__(16) char shared[];

// Add the HOL loss, by kind, that an arrival would meet at a block's start; `looked` is what the form of the state asks
// for: idle units by entry, or the probabilities of needs.
#if RANDOM
__device__ __forceinline__ void add_losses(const State &, const Real *, double (&)[KINDS]) {}  // summed by the state
#elif PLAIN
__device__ __forceinline__ void add_losses(const State &state, const Real *looked, double (&lost)[KINDS]) {
    lost[0] += state.loss(looked);
}
#else
template <int K, int T>
__device__ __forceinline__ void add_loss(const State &state, Real start, const Real *looked, double (&lost)[KINDS]) {
    lost[T] += looked[K] * state.template idle_until<T>(start);
    if constexpr (T + 1 < KINDS) add_loss<K, T + 1>(state, start, looked, lost);
}

template <int K = 0>
__device__ __forceinline__ void add_losses(const State &state, const Real *looked, double (&lost)[KINDS]) {
    if (!STRICT) return;  // the state has summed the loss of every job
    add_loss<K, 0>(state, state.template at_need<K>(), looked, lost);
    if constexpr (K + 1 < NEEDS) add_losses<K + 1>(state, looked, lost);
}
#endif

// Write a replica's losses out, [row][kind]: sums over looks, one a block; under random assignment, over all jobs.
__device__ __forceinline__ void give_losses(const State &state, Index row, const double (&lost)[KINDS], double *loss) {
#if RANDOM
    const double summed = state.lost();
    if (lane() == 0) loss[row] += summed;
#else
    if (lane() > 0) return;
#pragma unroll
    for (int t = 0; t < KINDS; ++t) {
        loss[row * KINDS + t] += lost[t];
#if !PLAIN
        if (!STRICT) loss[row * KINDS + t] += state.summed_loss[t] / BLOCK;
#endif
    }
#endif
}

// Before a block that begins with job `first`: where states draw servers, by the jobs' indices.
template <class... States>
__device__ __forceinline__ void begin_block(const Jobs &jobs, unsigned replica, Index first, States &...states) {
#if RANDOM || MOST_SPECIFIC
    (states.begin(jobs.stream, replica, first), ...);
#endif
}

// Room in shared memory for a team's states, one a chain, and for its jobs.
template <class... States> __device__ __forceinline__ Jobs begin_team(unsigned stream, States &...states) {
    int chain = 0;
    (states.place(shared, chain++), ...);
    Jobs jobs;
    jobs.stream = stream;
    jobs.place(shared + sizeof...(States) * State::SHARED);
    return jobs;
}

__device__ __forceinline__ Index team() { return (Index)blockIdx.x * TEAMS + threadIdx.x / LANES; }
