// One thread a replica: the workload in registers, and a copy in shared memory, [server][thread], for the shifted read
// W[i + need], whose place differs from thread to thread. Rows past the last server hold +inf.
#pragma once
#include "thread_team.cuh"

constexpr int ROWS = SERVERS + LARGEST_NEED;
constexpr int CHUNK = 24;  // shifted entries in flight

struct State {
    Real W[SERVERS];
    Real *column;

    static constexpr int SHARED = ROWS * THREADS * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int chain) {
        column = (Real *)(shared + chain * SHARED) + threadIdx.x;
        for (int i = SERVERS; i < ROWS; ++i) column[i * THREADS] = INFINITE;
    }

    __device__ __forceinline__ void share() {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) column[i * THREADS] = W[i];
    }

    __device__ __forceinline__ void put(const Real *row) {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) W[i] = row[i];
        share();
    }

    __device__ __forceinline__ void fill(Real level) {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) W[i] = level;
        share();
    }

    __device__ __forceinline__ void get(Real *row) const {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) row[i] = W[i];
    }

    __device__ __forceinline__ bool equals(const Real *row) const {
        bool equal = true;
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) equal &= W[i] == row[i];
        return equal;
    }

    __device__ __forceinline__ bool same(const State &other) const { return equals(other.W); }

    // One job: entry i becomes the median of W[i], v and W[i + need].
    __device__ __forceinline__ void step(int need, Real now, Real service, bool) {
        const Real *from = column + need * THREADS;
        const Real v = greater(now, from[-THREADS]) + service;
#pragma unroll
        for (int begin = 0; begin < SERVERS; begin += CHUNK) {
            // All of a chunk is read before any of it is written, so that the reads do not wait for one another.
            Real shifted[CHUNK];
#pragma unroll
            for (int i = 0; i < CHUNK; ++i)
                if (begin + i < SERVERS - SMALLEST_NEED) shifted[i] = from[(begin + i) * THREADS];
#pragma unroll
            for (int i = 0; i < CHUNK; ++i)
                if (begin + i < SERVERS) {
                    Real next = greater(v, W[begin + i]);
                    if (begin + i < SERVERS - SMALLEST_NEED) next = lesser(shifted[i], next);
                    W[begin + i] = next;
                    // Entries that no shifted read can reach, and no start, need no copy.
                    if (begin + i >= SMALLEST_NEED - 1) column[(begin + i) * THREADS] = next;
                }
        }
    }

    __device__ __forceinline__ void rebase(Real now) {
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) W[i] = greater(Real(0), W[i] - now);
        share();
    }

    __device__ __forceinline__ Real lower() {
        const Real bottom = W[0];
#pragma unroll
        for (int i = 0; i < SERVERS; ++i) W[i] -= bottom;
        share();
        return bottom;
    }

    template <int NEED_> __device__ __forceinline__ Real at() const { return W[NEED_ - 1]; }
    __device__ __forceinline__ Real at(int need) const { return column[(need - 1) * THREADS]; }

    // The expected HOL loss: raising the level from W[i-1] to W[i] idles i servers, if the job needs more than i.
    __device__ __forceinline__ double loss(const Real *idled) const {
        Real sum = 0;
#pragma unroll
        for (int i = 1; i < LARGEST_NEED; ++i) sum += idled[i] * (W[i] - W[i - 1]);
        return sum;
    }
};
