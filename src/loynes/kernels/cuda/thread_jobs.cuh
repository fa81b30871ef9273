// Jobs for a thread: drawn as they come.
#pragma once
#include "jobs.cuh"

constexpr int UNROLLED = GROUP;

struct Jobs {
    static constexpr int SHARED = 0;
    unsigned stream;
    Means means;

    __device__ __forceinline__ void place(char *) { means.load(); }

    // Of a block: the low word of the index does not overflow inside one.
    template <class Step>
    __device__ __forceinline__ void each(unsigned replica, Index first, Step step) const {
        const unsigned low = (unsigned)first, high = (unsigned)(first >> 32);
        // The next job is drawn while this one is served: the two need different units of the processor.
        Job job = draw(means, stream, replica, low, high);
#pragma unroll UNROLLED
        for (unsigned j = 1; j < BLOCK; ++j) {
            const Job next = draw(means, stream, replica, low + j, high);
            step(job);
            job = next;
        }
        step(job);
    }
};
