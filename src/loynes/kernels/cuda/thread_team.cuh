// One thread a replica, and its jobs: drawn as they come.
#pragma once
#include "jobs.cuh"

constexpr int LANES = 1;

__device__ __forceinline__ constexpr unsigned lane() { return 0; }
__device__ __forceinline__ bool everywhere(bool here) { return here; }
template <class T> __device__ __forceinline__ T from_first(T value) { return value; }

constexpr int UNROLLED = GROUP;

struct Jobs {
    static constexpr int SHARED = 0;
    unsigned stream;
    Means means;

    __device__ __forceinline__ void place(char *) { means.load(); }

    // Of a block: the low word of the index does not overflow inside one.
    template <class Step, class... States>
    __device__ __forceinline__ void each(unsigned replica, Index first, Step step, States &...) const {
        const unsigned low = (unsigned)first, high = (unsigned)(first >> 32);
        // The next job is drawn while this one is served: the two need different units of the processor.
        Job job = draw(means, stream, replica, low, high);
#pragma unroll UNROLLED
        for (unsigned j = 1; j < BLOCK; ++j) {
            const Job next = draw(means, stream, replica, low + j, high);
            step(job, false);
            job = next;
        }
        step(job, false);
    }
};
