// One warp a replica under random assignment: the heights of all servers, in no order, in shared memory. Who is where is
// part of the state (see kernels/cpu/random_pile.py).
#pragma once
#include "assignment.cuh"

struct State {
    Real *H;
    Words words;
    double summed_loss;  // of all jobs, by the servers of this lane

    static constexpr int SHARED = SERVERS * (THREADS / 32) * (int)sizeof(Real);

    __device__ __forceinline__ void place(char *shared, int) {
        H = (Real *)shared + threadIdx.x / 32 * SERVERS;
        summed_loss = 0;
    }

    template <class Change> __device__ __forceinline__ void each(Change change) {
        __syncwarp();
#pragma unroll 4
        for (int i = lane(); i < SERVERS; i += 32) change(H[i], i);
        __syncwarp();
    }

    __device__ __forceinline__ void put(const Real *row) {
        each([&](Real &h, int i) ALWAYS_INLINE { h = row[i]; });
    }
    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &h, int i) ALWAYS_INLINE { row[i] = h; });
    }

    __device__ __forceinline__ void prepare(int) {}

    __device__ __forceinline__ void begin(unsigned stream, unsigned replica, Index first) {
        words.begin(stream, replica, first);
    }

    __device__ __forceinline__ void step(int need, Real, Real service, bool) {
        if (need == 1) return step_of_one(service);
        const int moved = min(need, SERVERS - need);
        // Of 32 swaps, each lane's own: their words are drawn, and as many as can be are made, at a time.
        for (int base = 0; base < moved; base += 32) exchange(base, moved, words.at(base, moved));
        words.advance();
        // The servers moved to the front are the job's, or, if it needs more than half, the others.
        const int from = moved == need ? 0 : moved, to = from + need;
        Real start = 0;
#pragma unroll 4
        for (int i = from + lane(); i < to; i += 32) start = greater(start, H[i]);
        start = greatest(start);
        const Real v = start + service;
        Real loss = 0;
#pragma unroll 4
        for (int i = from + lane(); i < to; i += 32) {
            loss += start - H[i];
            H[i] = v;
        }
        summed_loss += loss;
        __syncwarp();
    }

    __device__ __forceinline__ Real lower() {
        Real bottom = INFINITE;
        each([&](Real &h, int) ALWAYS_INLINE { bottom = lesser(bottom, h); });
#pragma unroll
        for (int step = 16; step > 0; step /= 2) bottom = lesser(bottom, __shfl_xor_sync(ALL, bottom, step));
        each([&](Real &h, int) ALWAYS_INLINE { h -= bottom; });
        return bottom;
    }

    __device__ __forceinline__ double lost() const { return total(summed_loss); }

  private:
    // The same for a job that needs one server, which nobody keeps idle for its sake.
    __device__ __forceinline__ void step_of_one(Real service) {
        const int pick = (int)((unsigned long long)words.number(0) * SERVERS >> 32);
        const Real start = H[pick], first = H[0];
        words.advance();
        __syncwarp();
        if (lane() == 0) {
            H[pick] = first;
            H[0] = start + service;
        }
        __syncwarp();
    }

    static __device__ __forceinline__ Real greatest(Real height) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) height = greater(height, __shfl_xor_sync(ALL, height, step));
        return height;
    }

    // Server base + lane() changes places with one drawn among those from there on, as if one lane came after the other.
    // Two swaps may be made at once if they have no server in common. A swap never reaches back, so a lane has to wait
    // for an earlier one only where both draw the same server, or the earlier one draws the later one's place. The lanes
    // before the first that has to wait go at once; then it is asked again.
    __device__ __forceinline__ void exchange(int base, int moved, unsigned word) {
        const int place = base + lane();
        const unsigned own = 1u << lane(), earlier = own - 1;
        const bool here = place < moved;
        // Lanes that have nothing to swap draw a server that nobody else can.
        const int pick = here ? place + (int)((unsigned long long)word * (unsigned)(SERVERS - place) >> 32) : ~place;
        const unsigned same = __match_any_sync(ALL, pick) & earlier;
        const bool reaches = here && pick > place && pick < base + 32;
        const unsigned reached = reaches ? 1u << (pick - base) : 0;
        unsigned left = __ballot_sync(ALL, here);
        while (left) {
            const bool asked = left & own;
            const unsigned places = __reduce_or_sync(ALL, asked ? reached : 0u);
            const unsigned late = __ballot_sync(ALL, asked && (same & left || places & own));
            const unsigned now = late ? left & ((late & (0u - late)) - 1) : left;
            if (now & own) {
                const Real from = H[place], to = H[pick];
                H[place] = to;
                H[pick] = from;
            }
            __syncwarp();
            left &= ~now;
        }
    }
};
