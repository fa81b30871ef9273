// The words that a job's servers are drawn from, for a warp: group g of four is at the stream with ASSIGNMENT and g in
// it, at the job's index (loynes.inputs.jobs.assignment_words). Most jobs ask for no more than four: those of 32 jobs
// are drawn at a time, one job a lane; the others as they are needed, 32 groups of one job.
#pragma once
#include "warp_team.cuh"

struct Words {
    unsigned stream, replica, low, high;
    unsigned job;  // of the block
    uint4 near;    // group 0 of 32 jobs, the block's first or last, one a lane
    uint4 far;     // 32 groups of the job

    static constexpr int GROUPS = 32, FAR = 4 * GROUPS;

    // From the block that begins with job `first` on.
    __device__ __forceinline__ void begin(unsigned its_stream, unsigned its_replica, Index first) {
        stream = its_stream | ASSIGNMENT;
        replica = its_replica;
        low = (unsigned)first;
        high = (unsigned)(first >> 32);
        job = 0;
        near = group(0, lane());
    }

    // On to the block's next job.
    __device__ __forceinline__ void advance() {
        if (++job == 32) near = group(0, job + lane());
    }

    // The first that a job asks for, in all lanes.
    __device__ __forceinline__ unsigned first() const { return __shfl_sync(ALL, near.x, job & 31); }

    // Of a job that asks for so many, those at base .. base + 31, one a lane; base rises from 0 by 32.
    __device__ __forceinline__ unsigned at(int base, int asked) {
        if (asked <= 4) return part_of(near, job & 31, lane() & 3);
        if (base % FAR == 0) far = group(base / 4 + lane(), job);
        return part_of(far, base % FAR / 4 + lane() / 4, lane() & 3);
    }

  private:
    __device__ __forceinline__ uint4 group(int number, unsigned of_job) const {
        return philox(keys, stream | number << GROUP_SHIFT, replica, low + of_job, high);
    }

    // What another lane has as one of its four.
    static __device__ __forceinline__ unsigned part_of(const uint4 &words, unsigned from, unsigned part) {
        const unsigned x = __shfl_sync(ALL, words.x, from), y = __shfl_sync(ALL, words.y, from);
        const unsigned z = __shfl_sync(ALL, words.z, from), w = __shfl_sync(ALL, words.w, from);
        return part < 2 ? (part == 0 ? x : y) : (part == 2 ? z : w);
    }
};
