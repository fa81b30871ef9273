// One warp a replica, one ordered vector a kind of servers, one after the other in shared memory: passed over at every
// job, which pays while there are a few hundred units.
#pragma once
#include "kinds.cuh"
#include "warp_team.cuh"

constexpr int TOGETHER = 4;  // rows of 32 entries that are read before any is written

struct State {
    Real *W;
    Real floor;
    double summed_loss[KINDS];  // HOL loss of all jobs served, where the order is not strict; of lane 0

    static constexpr int SHARED = SERVERS * (THREADS / 32) * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int chain) {
        W = (Real *)(shared + chain * SHARED) + threadIdx.x / 32 * SERVERS;
#pragma unroll
        for (int t = 0; t < KINDS; ++t) summed_loss[t] = 0;
    }

    template <class Change> __device__ __forceinline__ void each(Change change) {
        __syncwarp();
        for (int i = lane(); i < SERVERS; i += 32) change(W[i], i);
        __syncwarp();
    }

    __device__ __forceinline__ void put(const Real *row) {
        each([&](Real &w, int i) ALWAYS_INLINE { w = row[i]; });
        floor = 0;
    }
    __device__ __forceinline__ void fill(Real level) {
        each([&](Real &w, int) ALWAYS_INLINE { w = level; });
        floor = 0;
    }
    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &w, int i) ALWAYS_INLINE { row[i] = w; });
    }

    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        each([&](Real &w, int i) ALWAYS_INLINE { equal &= w == row[i]; });
        return everywhere(equal);
    }
    __device__ __forceinline__ bool same(const State &other) { return equals(other.W); }

    __device__ __forceinline__ void prepare(int) {}

    __device__ __forceinline__ void step(int job_class, Real now, Real service, bool) {
        const Real before = STRICT ? greater(now, floor) : now;
        Real start = before;
        for (int t = 0; t < KINDS; ++t) {
            const int need = demand_of(job_class, t);
            if (need > 0) start = greater(start, W[first_of(t) + need - 1]);
        }
        const Real v = start + service;
        __syncwarp();
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            const int need = demand_of(job_class, t);
            if (need == 0) continue;
            Real *kind = W + first_of(t);
            if (!STRICT) summed_loss[t] += reserved(kind, need, before, start);
            for (int begin = 0; begin < UNITS[t]; begin += 32 * TOGETHER) {
                Real old[TOGETHER], shifted[TOGETHER];
#pragma unroll
                for (int r = 0; r < TOGETHER; ++r) {
                    const int i = begin + 32 * r + lane();
                    old[r] = i < UNITS[t] ? kind[i] : INFINITE;
                    shifted[r] = i + need < UNITS[t] ? kind[i + need] : INFINITE;
                }
                __syncwarp();
                // Nothing at or above v changes, here or further up.
                if (__all_sync(ALL, old[0] >= v)) break;
#pragma unroll
                for (int r = 0; r < TOGETHER; ++r) {
                    const int i = begin + 32 * r + lane();
                    if (i < UNITS[t]) kind[i] = lesser(shifted[r], greater(v, old[r]));
                }
            }
            __syncwarp();
        }
        if (STRICT) floor = start;
    }

    // For how long the servers of a kind that a job takes idle for its sake.
    __device__ __forceinline__ double reserved(const Real *kind, int need, Real before, Real start) const {
        double sum = 0;
        for (int i = lane(); i < need; i += 32) sum += start - greater(before, kind[i]);
        return total(sum);
    }

    __device__ __forceinline__ void rebase(Real now) {
        const Real least = floor;
        each([&](Real &w, int) ALWAYS_INLINE { w = greater(Real(0), greater(least, w) - now); });
        floor = 0;
    }

    __device__ __forceinline__ Real lower() {
        __syncwarp();
        const Real least = floor;
        Real bottom = INFINITE;
        for (int t = 0; t < KINDS; ++t) bottom = lesser(bottom, greater(least, W[first_of(t)]));
        each([&](Real &w, int) ALWAYS_INLINE { w = greater(least, w) - bottom; });
        floor = 0;
        return bottom;
    }

    template <int K> __device__ __forceinline__ Real at_need() const { return start_of_need<K>(W); }

    template <int T> __device__ __forceinline__ Real idle_until(Real start) const {
        Real sum = 0;
        for (int i = lane(); i < UNITS[T]; i += 32) {
            sum += greater(start - W[first_of(T) + i], Real(0));
        }
        return total(sum);
    }
};
