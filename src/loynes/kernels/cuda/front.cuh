// One warp a replica, the workload as one ordered vector (ordered.cuh): any number of servers that fits into shared
// memory, any needs; quick where most jobs need few servers.
#pragma once
#include "ordered.cuh"

struct State {
    Ordered<SERVERS> W;

    static constexpr int SHARED = Ordered<SERVERS>::PLACES * (THREADS / 32) * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int chain) {
        W.W = (Real *)(shared + chain * SHARED) + threadIdx.x / 32 * Ordered<SERVERS>::PLACES;
    }

    __device__ __forceinline__ void put(const Real *row) {
        W.set([&](int i) ALWAYS_INLINE { return row[i]; });
    }
    __device__ __forceinline__ void fill(Real level) {
        W.set([&](int) ALWAYS_INLINE { return level; });
    }
    __device__ __forceinline__ void get(Real *row) {
        W.close();
        W.get(row);
    }
    __device__ __forceinline__ bool equals(const Real *row) { return W.equals(row); }
    __device__ __forceinline__ bool same(const State &other) { return W.equals(other.W.W); }

    // Between blocks, where all entries lie in shared memory.
    __device__ __forceinline__ Real at(int need) const { return W.W[need - 1]; }

    // Before GROUP jobs that need as many servers each.
    __device__ __forceinline__ void prepare(int need) { W.ready(need * GROUP); }

    // Gives when the job starts.
    __device__ __forceinline__ Real step(int need, Real now, Real service, bool prepared) {
        const Real start = greater(now, W.free_at(need, prepared));
        W.take(need, start + service);
        return start;
    }

    __device__ __forceinline__ void rebase(Real now) {
        W.close();
        W.each([&](Real &w, int) ALWAYS_INLINE { w = greater(Real(0), w - now); });
    }

    __device__ __forceinline__ Real lower() {
        W.close();
        const Real bottom = W.W[0];
        W.each([&](Real &w, int) ALWAYS_INLINE { w -= bottom; });
        return bottom;
    }

    // The expected HOL loss (see thread.cuh).
    __device__ __forceinline__ double loss(const Real *idled) const {
        Real sum = 0;
#pragma unroll TOGETHER
        for (int i = lane(); i < LARGEST_NEED; i += 32)
            if (i > 0) sum += idled[i] * (W.W[i] - W.W[i - 1]);
        return total(sum);
    }
};
