// One thread a replica under random assignment: the heights of all servers, in no order, in shared memory as
// [server][thread], so that lanes may read and write at any places without a bank conflict. Who is where is part of the
// state (see kernels/cpu/random_pile.py).
#pragma once
#include "thread_team.cuh"

struct State {
    Real *column;
    double summed_loss;  // of all jobs
    unsigned stream, replica, low, high;  // where the next job's servers are drawn from

    static constexpr int SHARED = SERVERS * THREADS * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int) {
        column = (Real *)shared + threadIdx.x;
        summed_loss = 0;
    }

    __device__ __forceinline__ Real &at(int server) const { return column[server * THREADS]; }

    __device__ __forceinline__ void put(const Real *row) {
        for (int i = 0; i < SERVERS; ++i) at(i) = row[i];
    }
    __device__ __forceinline__ void get(Real *row) const {
        for (int i = 0; i < SERVERS; ++i) row[i] = at(i);
    }

    __device__ __forceinline__ void begin(unsigned its_stream, unsigned its_replica, Index first) {
        stream = its_stream | ASSIGNMENT;
        replica = its_replica;
        low = (unsigned)first;
        high = (unsigned)(first >> 32);
    }

    __device__ __forceinline__ void step(int need, Real, Real service, bool) {
        const int moved = min(need, SERVERS - need);
#pragma unroll 1
        for (int begin = 0; begin < moved; begin += 4) {
            const uint4 word = philox(keys, stream | begin / 4 << GROUP_SHIFT, replica, low, high);
            const unsigned words[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
            for (int t = 0; t < 4; ++t)
                if (begin + t < moved) exchange(begin + t, words[t]);
        }
        ++low;
        // The servers moved to the front are the job's, or, if it needs more than half, the others.
        const int from = moved == need ? 0 : moved, to = from + need;
        Real start = 0;
#pragma unroll 4
        for (int i = from; i < to; ++i) start = greater(start, at(i));
        const Real v = start + service;
        Real loss = 0;
#pragma unroll 4
        for (int i = from; i < to; ++i) {
            loss += start - at(i);
            at(i) = v;
        }
        summed_loss += loss;
    }

    __device__ __forceinline__ Real lower() {
        Real bottom = at(0);
        for (int i = 1; i < SERVERS; ++i) bottom = lesser(bottom, at(i));
        for (int i = 0; i < SERVERS; ++i) at(i) -= bottom;
        return bottom;
    }

    __device__ __forceinline__ double lost() const { return summed_loss; }

  private:
    // Change places with a server drawn among those from here on.
    __device__ __forceinline__ void exchange(int i, unsigned word) {
        const int pick = i + (int)((unsigned long long)word * (unsigned)(SERVERS - i) >> 32);
        const Real here = at(i), there = at(pick);
        at(i) = there;
        at(pick) = here;
    }
};
