// As thread.cuh, with one ordered vector a kind, all in the same registers and the same columns of shared memory. Under
// strict order `floor`, the last start, stands for every entry below it until the block's end.
#pragma once
#include "kinds.cuh"
#include "thread_team.cuh"

constexpr int ROWS = row_of(KINDS);
constexpr int CHUNK = 24;  // shifted entries in flight

struct State {
    Real W[SERVERS];
    Real floor;
    double summed_loss[KINDS];  // HOL loss of all jobs served, where the order is not strict
    Real *column;

    static constexpr int SHARED = ROWS * THREADS * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int chain) {
        column = (Real *)(shared + chain * SHARED) + threadIdx.x;
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            summed_loss[t] = 0;
            for (int i = UNITS[t]; i < UNITS[t] + MOST_DEMAND[t]; ++i) column[(row_of(t) + i) * THREADS] = INFINITE;
        }
    }

    template <class Change> __device__ __forceinline__ void change(Change change) {
#pragma unroll
        for (int t = 0; t < KINDS; ++t)
#pragma unroll
            for (int i = 0; i < UNITS[t]; ++i) {
                W[first_of(t) + i] = change(W[first_of(t) + i], first_of(t) + i);
                column[(row_of(t) + i) * THREADS] = W[first_of(t) + i];
            }
        floor = 0;
    }

    __device__ __forceinline__ void put(const Real *row) {
        change([&](Real, int i) ALWAYS_INLINE { return row[i]; });
    }
    __device__ __forceinline__ void fill(Real level) {
        change([&](Real, int) ALWAYS_INLINE { return level; });
    }

    __device__ __forceinline__ void get(Real *row) const {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) row[i] = W[i];
    }

    __device__ __forceinline__ bool equals(const Real *row) const {
        bool equal = true;
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) equal &= W[i] == row[i];
        return equal;
    }
    __device__ __forceinline__ bool same(const State &other) const { return equals(other.W); }

    __device__ __forceinline__ void step(int job_class, Real now, Real service, bool) {
        const Real before = STRICT ? greater(now, floor) : now;
        Real start = before;
        int need[KINDS];
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            need[t] = demand_of(job_class, t);
            if (need[t] > 0) start = greater(start, column[(row_of(t) + need[t] - 1) * THREADS]);
        }
        const Real v = start + service;
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            if (!STRICT)
                for (int i = 0; i < need[t]; ++i)
                    summed_loss[t] += start - greater(before, column[(row_of(t) + i) * THREADS]);
            // A need of 0 shifts nothing, and the median leaves every entry as it is.
            const Real *from = column + (row_of(t) + need[t]) * THREADS;
#pragma unroll
            for (int begin = 0; begin < UNITS[t]; begin += CHUNK) {
                Real shifted[CHUNK];
#pragma unroll
                for (int i = 0; i < CHUNK; ++i)
                    if (begin + i < UNITS[t]) shifted[i] = from[(begin + i) * THREADS];
#pragma unroll
                for (int i = 0; i < CHUNK; ++i)
                    if (begin + i < UNITS[t]) {
                        Real &w = W[first_of(t) + begin + i];
                        w = lesser(shifted[i], greater(v, w));
                        column[(row_of(t) + begin + i) * THREADS] = w;
                    }
            }
        }
        if (STRICT) floor = start;
    }

    __device__ __forceinline__ void rebase(Real now) {
        const Real least = floor;
        change([&](Real w, int) ALWAYS_INLINE { return greater(Real(0), greater(least, w) - now); });
    }

    __device__ __forceinline__ Real lower() {
        const Real least = floor;
        Real bottom = INFINITE;
#pragma unroll
        for (int t = 0; t < KINDS; ++t) bottom = lesser(bottom, greater(least, W[first_of(t)]));
        change([&](Real w, int) ALWAYS_INLINE { return greater(least, w) - bottom; });
        return bottom;
    }

    template <int K> __device__ __forceinline__ Real at_need() const { return start_of_need<K>(W); }

    // Under strict order: for how long the units of a kind idle until `start`, at a block's start.
    template <int T> __device__ __forceinline__ Real idle_until(Real start) const {
        Real sum = 0;
#pragma unroll
        for (int i = 0; i < UNITS[T]; ++i) sum += greater(start - W[first_of(T) + i], Real(0));
        return sum;
    }
};
