// One warp a replica, the workload in shared memory: any number of servers that fits there, any needs.
#pragma once
#include "warp_team.cuh"

constexpr int TOGETHER = 4;  // rows of 32 entries that are read before any is written

struct State {
    Real *W;

    static constexpr int SHARED = SERVERS * (THREADS / 32) * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int chain) {
        W = (Real *)(shared + chain * SHARED) + threadIdx.x / 32 * SERVERS;
    }

    template <class Change> __device__ __forceinline__ void each(Change change) {
        __syncwarp();
        for (int i = lane(); i < SERVERS; i += 32) change(W[i], i);
        __syncwarp();
    }

    __device__ __forceinline__ void put(const Real *row) {
        each([&](Real &w, int i) { w = row[i]; });
    }
    __device__ __forceinline__ void fill(Real level) {
        each([&](Real &w, int) { w = level; });
    }
    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &w, int i) { row[i] = w; });
    }

    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        each([&](Real &w, int i) { equal &= w == row[i]; });
        return everywhere(equal);
    }
    __device__ __forceinline__ bool same(const State &other) { return equals(other.W); }

    template <int NEED_> __device__ __forceinline__ Real at() const { return W[NEED_ - 1]; }
    __device__ __forceinline__ Real at(int need) const { return W[need - 1]; }

    __device__ __forceinline__ void step(int need, Real now, Real service) {
        const Real v = greater(now, W[need - 1]) + service;
        __syncwarp();
        for (int begin = 0; begin < SERVERS; begin += 32 * TOGETHER) {
            Real old[TOGETHER], shifted[TOGETHER];
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t) {
                const int i = begin + 32 * t + lane();
                old[t] = i < SERVERS ? W[i] : INFINITE;
                shifted[t] = i + need < SERVERS ? W[i + need] : INFINITE;
            }
            __syncwarp();
            // Nothing at or above v changes, here or further up.
            if (__all_sync(ALL, old[0] >= v)) break;
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t) {
                const int i = begin + 32 * t + lane();
                if (i < SERVERS) W[i] = lesser(shifted[t], greater(v, old[t]));
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ void rebase(Real now) {
        each([&](Real &w, int) { w = greater(Real(0), w - now); });
    }

    __device__ __forceinline__ Real lower() {
        __syncwarp();
        const Real bottom = W[0];
        each([&](Real &w, int) { w -= bottom; });
        return bottom;
    }

    __device__ __forceinline__ double loss(const Real *idled) const {
        Real sum = 0;
        for (int i = lane(); i < LARGEST_NEED; i += 32)
            if (i > 0) sum += idled[i] * (W[i] - W[i - 1]);
#pragma unroll
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
        return sum;
    }
};
