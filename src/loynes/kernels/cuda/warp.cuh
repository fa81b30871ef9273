// One warp a replica. The entries lie in SEGMENTS segments of 32 x ENTRIES; lane l of segment g holds entries
// (32 g + l) ENTRIES .. + ENTRIES - 1 in registers. Every need is a compile-time constant, so a shift is a renaming of
// registers and at most min(need, ENTRIES) shuffles a segment. Segments that a job cannot change are passed over.
#pragma once
#include "warp_team.cuh"

constexpr int SEGMENT = 32 * ENTRIES;

struct State {
    Real W[SEGMENTS][ENTRIES];

    static constexpr int SHARED = 0;

    __device__ __forceinline__ void place(char *, int) {}

    static __device__ __forceinline__ int entry(int g, int e) { return g * SEGMENT + (int)lane() * ENTRIES + e; }

    template <class Change> __device__ __forceinline__ void each(Change change) {
#pragma unroll
        for (int g = 0; g < SEGMENTS; ++g)
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e) change(W[g][e], entry(g, e));
    }

    __device__ __forceinline__ void put(const Real *row) {
        each([&](Real &w, int i) { w = i < SERVERS ? row[i] : INFINITE; });
    }

    __device__ __forceinline__ void fill(Real level) {
        each([&](Real &w, int i) { w = i < SERVERS ? level : INFINITE; });
    }

    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &w, int i) {
            if (i < SERVERS) row[i] = w;
        });
    }

    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        each([&](Real &w, int i) { equal &= i >= SERVERS || w == row[i]; });
        return everywhere(equal);
    }

    __device__ __forceinline__ bool same(const State &other) const {
        bool equal = true;
#pragma unroll
        for (int g = 0; g < SEGMENTS; ++g)
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e) equal &= W[g][e] == other.W[g][e];
        return everywhere(equal);
    }

    // The entry at a known place, in all lanes.
    template <int PLACE> __device__ __forceinline__ Real entry_at() const {
        return __shfl_sync(ALL, W[PLACE / SEGMENT][PLACE % ENTRIES], PLACE % SEGMENT / ENTRIES);
    }

    template <int NEED_> __device__ __forceinline__ Real at() const { return entry_at<NEED_ - 1>(); }

    // Whether the entry at a known place is at most `now`, in all lanes; false past the last.
    template <int PLACE> __device__ __forceinline__ bool idle_at(Real now) const {
        if constexpr (PLACE >= SEGMENTS * SEGMENT)
            return false;
        else
            return __any_sync(ALL, lane() == PLACE % SEGMENT / ENTRIES && W[PLACE / SEGMENT][PLACE % ENTRIES] <= now);
    }

    // W[i + A] for entry e of segment g.
    template <int A, int G, int E> __device__ __forceinline__ Real shifted() const {
        constexpr int lanes = (E + A) / ENTRIES, from = (E + A) % ENTRIES;
        constexpr int segment = G + lanes / 32, turn = lanes % 32;
        if constexpr (segment >= SEGMENTS) {
            return INFINITE;
        } else if constexpr (turn == 0) {
            return W[segment][from];
        } else {
            // Lane l reads lane l + turn; those that wrap around read the next segment.
            Real next = INFINITE;
            if constexpr (segment + 1 < SEGMENTS) next = W[segment + 1][from];
            const Real sent = lane() < turn ? next : W[segment][from];
            return __shfl_sync(ALL, sent, (lane() + turn) & 31);
        }
    }

    // What entries are shifted from is read before any entry of the segment changes: other lanes still need it.
    template <int A, int G, int E> __device__ __forceinline__ void read_shifted(Real (&from)[ENTRIES]) const {
        from[E] = shifted<A, G, E>();
        if constexpr (E + 1 < ENTRIES) read_shifted<A, G, E + 1>(from);
    }

    template <int A, int G> __device__ __forceinline__ void step_segments(Real v, Real now) {
        // Nothing at or above v changes, here or in any later segment.
        if (G > 0 && __all_sync(ALL, W[G][0] >= v)) return;
        // Stale idle entries. Inside a block entries are times since its start; one that is at most `now` belongs to
        // an idle server: whatever it is, a job starts there at max(now, it) = now. If after this job the whole segment
        // is still idle (its last entry becomes the W[i + A] that is looked at here), the step would only put one such
        // time in the place of another; so it is left out, and older, smaller times stay. Busy entries are not touched
        // by that: `now` only grows, so stale entries stay idle; v = max(now, W[A-1]) + service is the same; and in the
        // median of W[i], v and W[i + A], a stale W[i] <= now <= v never decides, while a stale W[i + A] makes an entry
        // that is idle in any case. Entries stay in order, because the segments left out are the first ones and no
        // entry falls. At the block's end `rebase` makes all idle entries 0: the same bits as in every other form. That
        // is why workloads are compared, and looked at, between blocks only.
        const bool idle = SEGMENTS > 1 && idle_at<(G + 1) * SEGMENT + A - 1>(now);
        if (!idle) {
            Real from[ENTRIES];
            read_shifted<A, G, 0>(from);
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e) W[G][e] = lesser(from[e], greater(v, W[G][e]));
        }
        if constexpr (G + 1 < SEGMENTS) step_segments<A, G + 1>(v, now);
    }

    template <int K> __device__ __forceinline__ void step_of(int kind, Real now, Real service) {
        if (K + 1 == NEEDS || kind == K) {
            constexpr int A = NEED_BY_ODDS[K];
            const Real v = greater(now, at<A>()) + service;
            if constexpr (A == SERVERS) fill(v);
            else step_segments<A, 0>(v, now);
        } else if constexpr (K + 1 < NEEDS) {
            step_of<K + 1>(kind, now, service);
        }
    }

    __device__ __forceinline__ void prepare(int) {}

    __device__ __forceinline__ void step(int kind, Real now, Real service, bool) {
        step_of<0>(kind, now, service);
    }

    __device__ __forceinline__ void rebase(Real now) {
        each([&](Real &w, int) { w = greater(Real(0), w - now); });
    }

    __device__ __forceinline__ Real lower() {
        const Real bottom = entry_at<0>();
        each([&](Real &w, int) { w -= bottom; });
        return bottom;
    }

    // The expected HOL loss (see thread.cuh); `idled` is laid out by register, then lane.
    __device__ __forceinline__ double loss(const Real *idled) const {
        Real sum = 0;
#pragma unroll
        for (int g = 0; g < SEGMENTS; ++g) {
            if (g * SEGMENT < LARGEST_NEED) {
                Real below = __shfl_up_sync(ALL, W[g][ENTRIES - 1], 1);
                if (g > 0) {
                    const Real last = __shfl_sync(ALL, W[g > 0 ? g - 1 : 0][ENTRIES - 1], 31);
                    if (lane() == 0) below = last;
                }
#pragma unroll
                for (int e = 0; e < ENTRIES; ++e) {
                    const int i = entry(g, e);
                    const Real rise = W[g][e] - below;
                    if (i > 0 && i < LARGEST_NEED) sum += idled[(g * ENTRIES + e) * 32 + lane()] * rise;
                    below = W[g][e];
                }
            }
        }
        return total(sum);
    }
};
