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

    // The job's word of a number, in all lanes; numbers rise from 0 by 1.
    __device__ __forceinline__ unsigned number(int i) {
        if (i < 4) return __shfl_sync(ALL, part_of(near, i), job & 31);
        if (i == 4 || i % FAR == 0) far = group(i / FAR * GROUPS + lane(), job);
        return __shfl_sync(ALL, part_of(far, i & 3), i % FAR / 4);
    }

    // Of a job that asks for so many, those numbered base .. base + 31, one a lane; base rises from 0 by 32.
    __device__ __forceinline__ unsigned at(int base, int asked) {
        if (asked <= 4) return shown(near, job & 31);
        if (base % FAR == 0) far = group(base / 4 + lane(), job);
        return shown(far, base % FAR / 4 + lane() / 4);
    }

  private:
    __device__ __forceinline__ uint4 group(int number, unsigned of_job) const {
        return philox(keys, stream | number << GROUP_SHIFT, replica, low + of_job, high);
    }

    static __device__ __forceinline__ unsigned part_of(const uint4 &words, int part) {
        return part < 2 ? (part == 0 ? words.x : words.y) : (part == 2 ? words.z : words.w);
    }

    // Of another lane's four, the first to lane 0, 4, ..., the second to lane 1, 5, ...
    static __device__ __forceinline__ unsigned shown(const uint4 &words, unsigned from) {
        const unsigned x = __shfl_sync(ALL, words.x, from), y = __shfl_sync(ALL, words.y, from);
        const unsigned z = __shfl_sync(ALL, words.z, from), w = __shfl_sync(ALL, words.w, from);
        return part_of(make_uint4(x, y, z, w), lane() & 3);
    }
};
