// Several kinds of servers: where each kind's entries lie, and what classes and needs ask of it.
#pragma once
#include "jobs.cuh"

__device__ constexpr int first_of(int kind) {
    int first = 0;
    for (int t = 0; t < kind; ++t) first += UNITS[t];
    return first;
}

#if MOST_SPECIFIC
// Rows of 32 places before a kind's.
__device__ constexpr int first_row_of(int kind) {
    int row = 0;
    for (int t = 0; t < kind; ++t) row += (UNITS[t] + 31) / 32;
    return row;
}
#endif

// Rows of the copy in shared memory (thread form): a kind's entries, and as many of +inf as any class asks of it.
__device__ constexpr int row_of(int kind) {
    int row = 0;
    for (int t = 0; t < kind; ++t) row += UNITS[t] + MOST_DEMAND[t];
    return row;
}

__device__ __forceinline__ int demand_of(int job_class, int kind) { return far_table.demand[job_class * KINDS + kind]; }
#if MOST_SPECIFIC
__device__ __forceinline__ int specific_of(int job_class, int kind) {
    return far_table.specific[job_class * KINDS + kind];
}
#endif

// When a job of need K would start, at a block's start: the latest of the servers it takes.
template <int K, class Entries> __device__ __forceinline__ Real start_of_need(const Entries &W) {
    Real start = 0;
#pragma unroll
    for (int t = 0; t < KINDS; ++t)
        if (NEED_DEMAND[K * KINDS + t] > 0) start = greater(start, W[first_of(t) + NEED_DEMAND[K * KINDS + t] - 1]);
    return start;
}
