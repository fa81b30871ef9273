// One warp a replica, one ordered vector a kind of servers, one after the other in shared memory: passed over at every
// job, which pays while there are a few hundred units. Where jobs ask for specific servers, this is the one form.
#pragma once
#include "kinds.cuh"
#include "warp_team.cuh"
#if MOST_SPECIFIC
#include "places.cuh"
#endif

constexpr int TOGETHER = 4;  // rows of 32 entries that are read before any is written

struct State {
    Real *W;
    Real floor;
    double summed_loss[KINDS];  // HOL loss of all jobs served, where the order is not strict; of lane 0

#if MOST_SPECIFIC
    Words words;
    unsigned *taken;  // by the job at hand, bits of one kind after the other

    // Of places, in whole words.
    static constexpr int BYTES = SERVERS * (int)sizeof(Real) + (first_row_of(KINDS) + 1) / 2 * 8;
#else
    static constexpr int BYTES = SERVERS * (int)sizeof(Real);
#endif
    static constexpr int SHARED = BYTES * (THREADS / 32);

    __device__ __forceinline__ void place(char *shared, int chain) {
        W = (Real *)(shared + chain * SHARED + threadIdx.x / 32 * BYTES);
#if MOST_SPECIFIC
        taken = (unsigned *)(W + SERVERS);
#endif
#pragma unroll
        for (int t = 0; t < KINDS; ++t) summed_loss[t] = 0;
    }

    template <class Change> __device__ __forceinline__ void each(Change change) {
        __syncwarp();
        for (int i = lane(); i < SERVERS; i += 32) change(W[i], i);
        __syncwarp();
    }

    __device__ __forceinline__ void put(const Real *row) {
        each([&](Real &w, int i) ALWAYS_INLINE { w = row[i]; });
        floor = 0;
    }
    __device__ __forceinline__ void fill(Real level) {
        each([&](Real &w, int) ALWAYS_INLINE { w = level; });
        floor = 0;
    }
    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &w, int i) ALWAYS_INLINE { row[i] = w; });
    }

    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        each([&](Real &w, int i) ALWAYS_INLINE { equal &= w == row[i]; });
        return everywhere(equal);
    }
    __device__ __forceinline__ bool same(const State &other) { return equals(other.W); }

    __device__ __forceinline__ void prepare(int) {}

    __device__ __forceinline__ void step(int job_class, Real now, Real service, bool) {
        const Real before = STRICT ? greater(now, floor) : now;
        Real start = before;
#if MOST_SPECIFIC
        Ends ends[KINDS];
        int next = 0;  // word
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            ends[t] = ends_of(t, words, next, demand_of(job_class, t), specific_of(job_class, t));
            if (ends[t].last >= 0) start = greater(start, W[first_of(t) + ends[t].last]);
        }
        words.advance();
#else
        for (int t = 0; t < KINDS; ++t) {
            const int need = demand_of(job_class, t);
            if (need > 0) start = greater(start, W[first_of(t) + need - 1]);
        }
#endif
        const Real v = start + service;
        __syncwarp();
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            const int need = demand_of(job_class, t);
            Real *kind = W + first_of(t);
#if MOST_SPECIFIC
            if (specific_of(job_class, t) > 0) {
                const unsigned *its = taken + first_row_of(t);
                if (!STRICT) summed_loss[t] += reserved(kind, its, ends[t], before, start);
                exchange(kind, UNITS[t], its, ends[t].first / 32, need + specific_of(job_class, t), v);
                continue;
            }
#endif
            if (need == 0) continue;
            if (!STRICT) summed_loss[t] += reserved(kind, need, before, start);
            for (int begin = 0; begin < UNITS[t]; begin += 32 * TOGETHER) {
                Real old[TOGETHER], shifted[TOGETHER];
#pragma unroll
                for (int r = 0; r < TOGETHER; ++r) {
                    const int i = begin + 32 * r + lane();
                    old[r] = i < UNITS[t] ? kind[i] : INFINITE;
                    shifted[r] = i + need < UNITS[t] ? kind[i + need] : INFINITE;
                }
                __syncwarp();
                // Nothing at or above v changes, here or further up.
                if (__all_sync(ALL, old[0] >= v)) break;
#pragma unroll
                for (int r = 0; r < TOGETHER; ++r) {
                    const int i = begin + 32 * r + lane();
                    if (i < UNITS[t]) kind[i] = lesser(shifted[r], greater(v, old[r]));
                }
            }
            __syncwarp();
        }
        if (STRICT) floor = start;
    }

    // For how long the servers of a kind that a job takes idle for its sake.
    __device__ __forceinline__ double reserved(const Real *kind, int need, Real before, Real start) const {
        double sum = 0;
        for (int i = lane(); i < need; i += 32) sum += start - greater(before, kind[i]);
        return total(sum);
    }

#if MOST_SPECIFIC
    __device__ __forceinline__ void begin(unsigned stream, unsigned replica, Index first) {
        words.begin(stream, replica, first);
    }

    // The first and the last place of a kind that a job takes, whose specific servers are drawn from word `next` on;
    // if it has such, all its places are left in `taken`.
    __device__ __forceinline__ Ends ends_of(int t, Words &words, int &next, int others, int specific) const {
        if (specific == 0) return {0, others - 1};
        return choose(taken + first_row_of(t), UNITS[t], words, next, others, specific);
    }

    // Servers that are taken out from place 32 `row` on come in again as `count` copies of v. All of them were free by
    // v, so entries above v stay where they are, and those below that are not taken close up.
    __device__ __forceinline__ void exchange(Real *kind, int size, const unsigned *taken, int row, int count, Real v) {
        int kept = 32 * row;
        unsigned below = ALL;  // lanes whose entry in the last row is not above v: if not all, no later one is
        for (; below == ALL && 32 * row < size; row += TOGETHER) {
            Real w[TOGETHER];
            unsigned gone[TOGETHER];
#pragma unroll
            for (int r = 0; r < TOGETHER; ++r) {
                const int i = 32 * (row + r) + lane();
                w[r] = i < size ? kind[i] : INFINITE;
                gone[r] = 32 * (row + r) < size ? taken[row + r] : 0;
            }
            __syncwarp();
#pragma unroll
            for (int r = 0; r < TOGETHER; ++r) {
                below = __ballot_sync(ALL, w[r] <= v);
                const unsigned stay = below & ~gone[r];
                if (stay >> lane() & 1) kind[kept + __popc(stay & ((1u << lane()) - 1))] = w[r];
                kept += __popc(stay);
            }
        }
        for (int i = kept + lane(); i < kept + count; i += 32) kind[i] = v;
        __syncwarp();
    }

    __device__ __forceinline__ double reserved(const Real *kind, const unsigned *taken, Ends ends, Real before,
                                               Real start) const {
        double sum = 0;
        for (int row = ends.first / 32; row <= ends.last / 32; ++row)
            if (taken[row] >> lane() & 1) sum += start - greater(before, kind[32 * row + lane()]);
        return total(sum);
    }
#endif

    __device__ __forceinline__ void rebase(Real now) {
        const Real least = floor;
        each([&](Real &w, int) ALWAYS_INLINE { w = greater(Real(0), greater(least, w) - now); });
        floor = 0;
    }

    __device__ __forceinline__ Real lower() {
        __syncwarp();
        const Real least = floor;
        Real bottom = INFINITE;
        for (int t = 0; t < KINDS; ++t) bottom = lesser(bottom, greater(least, W[first_of(t)]));
        each([&](Real &w, int) ALWAYS_INLINE { w = greater(least, w) - bottom; });
        floor = 0;
        return bottom;
    }

#if MOST_SPECIFIC
    // With the specific servers of the job in whose place the arrival is looked at.
    template <int K> __device__ __forceinline__ Real at_need() const {
        Words own = words;
        int next = 0;
        Real start = 0;
#pragma unroll
        for (int t = 0; t < KINDS; ++t) {
            const int last = ends_of(t, own, next, NEED_DEMAND[K * KINDS + t], NEED_SPECIFIC[K * KINDS + t]).last;
            if (last >= 0) start = greater(start, W[first_of(t) + last]);
        }
        return start;
    }
#else
    template <int K> __device__ __forceinline__ Real at_need() const { return start_of_need<K>(W); }
#endif

    template <int T> __device__ __forceinline__ Real idle_until(Real start) const {
        Real sum = 0;
        for (int i = lane(); i < UNITS[T]; i += 32) {
            sum += greater(start - W[first_of(T) + i], Real(0));
        }
        return total(sum);
    }
};
