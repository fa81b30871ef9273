// Jobs for a warp: each lane draws one of the next 32 and leaves it in shared memory for all.
#pragma once
#include "jobs.cuh"

constexpr int TOGETHER_STEPS = UNROLLED;

struct Jobs {
    static constexpr int SHARED = THREADS * (int)sizeof(Job);
    unsigned stream;
    Job *drawn;

    __device__ __forceinline__ void place(char *shared) { drawn = (Job *)shared + (threadIdx.x & ~31u); }

    template <class Step>
    __device__ __forceinline__ void each(unsigned replica, Index first, Step step) const {
        const unsigned low = (unsigned)first, high = (unsigned)(first >> 32);
#pragma unroll 1
        for (unsigned begin = 0; begin < BLOCK; begin += 32) {
            __syncwarp();
            drawn[lane()] = draw(stream, replica, low + begin + lane(), high);
            __syncwarp();
#pragma unroll TOGETHER_STEPS
            for (int j = 0; j < 32; ++j) step(drawn[j]);
        }
    }
};
