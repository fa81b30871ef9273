// One warp a replica, and its jobs: each lane draws one of the next 32 and leaves it in shared memory for all.
#pragma once
#include "jobs.cuh"

constexpr int LANES = 32;

__device__ __forceinline__ unsigned lane() { return threadIdx.x & 31; }
__device__ __forceinline__ bool everywhere(bool here) { return __all_sync(ALL, here); }
template <class T> __device__ __forceinline__ T from_first(T value) { return __shfl_sync(ALL, value, 0); }

// The sum over all lanes, in all of them.
template <class N> __device__ __forceinline__ N total(N sum) {
    __syncwarp();
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
    return sum;
}

constexpr unsigned WHOLE_GROUP = (1u << GROUP) - 1;
constexpr int BRANCHING_STEPS = UNROLLED_BRANCHING;

struct Jobs {
    static constexpr int SHARED = THREADS * (int)sizeof(Job);
    unsigned stream;
    Job *drawn;
    Means means;

    __device__ __forceinline__ void place(char *shared) {
        drawn = (Job *)shared + (threadIdx.x & ~31u);
        means.load();
    }

    // step(job, prepared) for the jobs of a block; `prepared`, known when the code is compiled, says whether the states were asked to
    // prepare for this and the next few jobs.
    template <class Step, class... States>
    __device__ __forceinline__ void each(unsigned replica, Index first, Step step, States &...states) const {
        constexpr int MOST_FREQUENT = KIND_IS_NEED ? NEED_BY_ODDS[0] : 0;
        const unsigned low = (unsigned)first, high = (unsigned)(first >> 32);
#pragma unroll 1
        for (unsigned begin = 0; begin < BLOCK; begin += 32) {
            __syncwarp();
            const Job next = draw(means, stream, replica, low + begin + lane(), high);
            drawn[lane()] = next;
            // A group of jobs that all have the most frequent need goes straight through, without a branch a job.
            unsigned frequent = GROUP > 1 ? __ballot_sync(ALL, next.need == MOST_FREQUENT) : 0;
            __syncwarp();
#pragma unroll 1
            for (int j = 0; j < 32; j += GROUP, frequent >>= GROUP) {
                if (GROUP > 1 && (frequent & WHOLE_GROUP) == WHOLE_GROUP) {
                    (states.prepare(MOST_FREQUENT), ...);
#pragma unroll
                    for (int t = 0; t < GROUP; ++t) {
                        Job job = drawn[j + t];
                        job.need = MOST_FREQUENT;
                        step(job, true);
                    }
                } else {
#pragma unroll BRANCHING_STEPS
                    for (int t = 0; t < GROUP; ++t) step(drawn[j + t], false);
                }
            }
        }
    }
};
