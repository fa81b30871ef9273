// An ascending vector of SIZE entries, kept by a warp: its first 32 in registers, one a lane (the front), the rest in
// shared memory. A job that needs few servers touches the front only; the two are put together again (`close`) when the
// front can serve no more, when a job needs more than the front has, and at a block's end.
//
// Why it is right: the front starts as the 32 smallest entries. A job takes `need` of the smallest and puts `need`
// others in, somewhere in the front's order, which therefore always has 32 entries. As long as no more than 32 have
// been taken, some of those it started with are left, and they are at most every entry of the rest: so the `need`
// smallest of the front are the `need` smallest of all. Entries put in may be larger than some of the rest: `close`
// merges. What is computed for an entry is what every other form computes: copies of the same numbers, so the same bits.
#pragma once
#include "warp_team.cuh"

constexpr int TOGETHER = 4;  // rows of 32 entries that are read before any is written

// A row is 32 entries; the last is filled up with +inf.
__device__ constexpr int rows_of(int size) { return (size + 31) / 32; }

// The largest power of 2 that is at most n, or 1.
__device__ constexpr int power_below(int n) {
    int power = 1;
    while (2 * power <= n) power *= 2;
    return power;
}

template <int SIZE> struct Ordered {
    static constexpr int ROWS = rows_of(SIZE), PLACES = 32 * ROWS;
    static constexpr bool ALL_IN_FRONT = ROWS == 1;

    Real *W;     // places 0 .. 31 are free while the front is out
    Real front;  // entry lane()
    int left;    // how many entries may still be taken from the front; 0 while it lies in shared memory
    bool out;

    template <class Change> __device__ __forceinline__ void each(Change change) {
        __syncwarp();
        // Unrolled, so that several entries are under way at a time.
#pragma unroll TOGETHER
        for (int row = 0; row < ROWS; ++row) change(W[32 * row + lane()], 32 * row + (int)lane());
        __syncwarp();
    }

    // Entries as value(place), all in shared memory.
    template <class Value> __device__ __forceinline__ void set(Value value) {
        each([&](Real &w, int i) ALWAYS_INLINE { w = i < SIZE ? value(i) : INFINITE; });
        out = false;
        left = 0;
    }

    __device__ __forceinline__ void get(Real *row) {
        each([&](Real &w, int i) ALWAYS_INLINE {
            if (i < SIZE) row[i] = w;
        });
    }

    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        each([&](Real &w, int i) ALWAYS_INLINE { equal &= i >= SIZE || w == row[i]; });
        return everywhere(equal);
    }

    // See to it that `servers` may be taken from the front.
    __device__ __forceinline__ void ready(int servers) {
        if (ALL_IN_FRONT ? !out : left < servers) {
            close();
            open();
        }
    }

    // When `need` servers are free: entry need - 1. `prepared`: they may be taken from the front for sure.
    __device__ __forceinline__ Real free_at(int need, bool prepared) {
        if (prepared || ALL_IN_FRONT || need <= FRONT) {
            if (!prepared) ready(need);
            return __shfl_sync(ALL, front, need - 1);
        }
        close();
        return W[need - 1];
    }

    // Take the `need` smallest out, and put v in as often: entry i becomes the median of W[i], v and W[i + need]. Comes
    // after free_at(need).
    __device__ __forceinline__ void take(int need, Real v) {
        if (ALL_IN_FRONT || need <= FRONT) {
            const Real next = __shfl_down_sync(ALL, front, need);
            front = lesser((int)lane() + need < FRONT ? next : INFINITE, greater(v, front));
            left -= need;
        } else {
            take_many(need, v);
        }
    }

    __device__ __forceinline__ void open() {
        front = W[lane()];
        left = FRONT;
        out = true;
    }

    // The front back among the rest: entry j of the front comes after `rank` entries of the rest, so its place is
    // j + rank; the rest keep their order in the places that are left, none of them above where they are now.
    __device__ __forceinline__ void close() {
        if (!out) return;
        out = false;
        left = 0;
        if constexpr (ALL_IN_FRONT) {
            W[lane()] = front;
        } else {
            const int place = lane() + rank(front);
            const int place_row = place >> 5;
            const unsigned place_bit = 1u << (place & 31), below = (1u << lane()) - 1;
            const int first_row = __shfl_sync(ALL, place_row, 0), last_row = __shfl_sync(ALL, place_row, 31);
            int row = 0;
            // Before the first that is put in, everything moves down by a row.
#pragma unroll 1
            for (; row + TOGETHER <= first_row; row += TOGETHER) {
                Real moved[TOGETHER];
#pragma unroll
                for (int t = 0; t < TOGETHER; ++t) moved[t] = W[32 * (row + t + 1) + lane()];
                // Nobody reads these places from another lane.
#pragma unroll
                for (int t = 0; t < TOGETHER; ++t) W[32 * (row + t) + lane()] = moved[t];
            }
            int before = 0;  // of the front, in earlier rows
            // After the last, everything stays.
#pragma unroll 1
            for (; row <= last_row; row += TOGETHER) {
                Real moved[TOGETHER];
                bool free[TOGETHER];
#pragma unroll
                for (int t = 0; t < TOGETHER; ++t) {
                    const unsigned taken = __reduce_or_sync(ALL, place_row == row + t ? place_bit : 0u);
                    const int from = 32 * (row + t + 1) + lane() - before - __popc(taken & below);
                    free[t] = !(taken >> lane() & 1) && row + t <= last_row;
                    if (free[t]) moved[t] = W[from];
                    before += __popc(taken);
                }
                __syncwarp();
#pragma unroll
                for (int t = 0; t < TOGETHER; ++t)
                    if (free[t]) W[32 * (row + t) + lane()] = moved[t];
            }
            __syncwarp();
            W[place] = front;
        }
        __syncwarp();
    }

  private:
    // How many entries of the rest are less than w: halving, all lanes alike.
    __device__ __forceinline__ int rank(Real w) const {
        constexpr int REST = PLACES - FRONT;
        constexpr int HALF = power_below(REST);
        const Real *rest = W + FRONT;
        // Of REST entries to HALF, the first or the last ones; then 0 .. HALF of these are less.
        int found = rest[HALF - 1] < w ? REST - HALF : 0;
#pragma unroll
        for (int half = HALF / 2; half > 0; half /= 2)
            if (rest[found + half - 1] < w) found += half;
        return found + (rest[found] < w);
    }

    __device__ __forceinline__ void take_many(int need, Real v) {
        __syncwarp();
#pragma unroll 1
        for (int begin = 0; begin < PLACES; begin += 32 * TOGETHER) {
            Real old[TOGETHER], shifted[TOGETHER];
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t) {
                const int i = begin + 32 * t + lane();
                old[t] = i < PLACES ? W[i] : INFINITE;
                shifted[t] = i + need < PLACES ? W[i + need] : INFINITE;
            }
            __syncwarp();
            // Nothing at or above v changes, here or further up.
            if (__all_sync(ALL, old[0] >= v)) break;
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t) {
                const int i = begin + 32 * t + lane();
                // Places past the last entry keep their +inf.
                if (i < SIZE) W[i] = lesser(shifted[t], greater(v, old[t]));
            }
        }
        __syncwarp();
    }
};
