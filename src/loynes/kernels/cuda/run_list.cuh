// An ascending vector of UNITS entries as a list of runs (value, how many entries have it), kept by a warp: the first
// runs in registers, one a lane (the front), the rest in shared memory, in places begin .. MOST - 1. A job takes the
// smallest units out and puts one run in, however many units it needs.
//
// Why the front will do: the runs that go out to it are the smallest, of `left` units in all. A job takes `need` units
// and puts `need` in, so the front always has as many; as long as no more than those `left` have been taken, some that
// it started with are there, at most every run of the rest. So the smallest of the front are the smallest of all.
//
// MOST is a multiple of how many runs there usually are, so that many replicas fit on the chip. Should a list ever need
// more, `overflowed` says so, the list starts anew with all units free, and what the launch computes is thrown away: the
// engine runs it again in a form that has room for everything.
#pragma once
#include "warp_team.cuh"

constexpr int GO_OUT = 24;  // runs that go out to the front at a time: it may grow by 8 before it is full
constexpr int TOGETHER = 2;  // rows of 32 runs that are read before any is written

__device__ int overflowed;

template <int UNITS, int MOST_RUNS> struct RunList {
    static constexpr int MOST = MOST_RUNS;
    static constexpr int BYTES = (MOST * (int)(sizeof(Real) + sizeof(Units)) + 15) / 16 * 16;

    Real *value;
    // Inside a block: how long a run is. Between blocks (`summed`): how many units are in earlier runs.
    Units *units;
    int begin;
    bool summed;
    Real front;  // of run lane(); +inf past the last
    int length;  // 0 past the last
    int size;    // runs in the front
    int left;    // units that may still be taken from the front
    int at;      // the run of the front in which the units asked for end, and
    int rest;    // how many units it has beyond them
    int far_begin, far_end, far_part;  // where at < 0: runs in shared memory, and how many units of the last of them

    __device__ __forceinline__ void place(char *memory) {
        value = (Real *)memory;
        units = (Units *)(memory + MOST * sizeof(Real));
    }

    // --- between blocks ---

    // Entries given as ascending `of(i)`.
    template <class Of> __device__ __forceinline__ void set(Of of) {
        int top = MOST;
        for (int low = (UNITS - 1) / 32 * 32; low >= 0; low -= 32) {
            const int i = low + lane();
            const Real w = i < UNITS ? of(i) : INFINITE;
            const bool first = i < UNITS && (i == 0 || of(i - 1) != w);
            keep(first, w, i, top);
        }
        start_at(top);
    }

    // Every value w becomes change(w), which keeps the order; runs that become equal become one.
    template <class Change> __device__ __forceinline__ void change(Change change) {
        close();
        sum_nothing();
        int top = MOST, above = 0;
        __syncwarp();
#pragma unroll 1
        for (int high = MOST; high > begin; high -= 32) {
            const int place = high - 32 + (int)lane();
            const bool there = place >= begin;
            const Real w = there ? change(value[place]) : INFINITE;
            const bool first = there && (place == begin || change(value[place - 1]) != w);
            int sum = there ? units[place] : 0;
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                const int more = __shfl_down_sync(ALL, sum, step);
                if (lane() + step < 32) sum += more;
            }
            sum += above;
            above = __shfl_sync(ALL, sum, 0);
            keep(first, w, UNITS - sum, top);
        }
        start_at(top);
    }

    // The last run with fewer than `need` units before it.
    __device__ __forceinline__ Real at_need(int need) const {
        int low = begin, high = MOST;
        while (high - low > 1) {
            const int middle = (low + high) >> 1;
            if ((int)units[middle] < need) low = middle;
            else high = middle;
        }
        return value[low];
    }

    __device__ __forceinline__ int first_unit(int place) const { return place < MOST ? (int)units[place] : UNITS; }

    // Every run, by lane, as visit(value, units before it, units before the next).
    template <class Visit> __device__ __forceinline__ void each(Visit visit) const {
        for (int place = begin + lane(); place < MOST; place += 32)
            visit(value[place], (int)units[place], first_unit(place + 1));
    }

    __device__ __forceinline__ void get(Real *row) const {
        __syncwarp();
        each([&](Real w, int i, int next) ALWAYS_INLINE {
            for (; i < next; ++i) row[i] = w;
        });
        __syncwarp();
    }

    __device__ __forceinline__ bool equals(const Real *row) const {
        bool equal = true;
        each([&](Real w, int i, int next) ALWAYS_INLINE {
            for (; i < next; ++i) equal &= row[i] == w;
        });
        return everywhere(equal);
    }

    __device__ __forceinline__ bool same(const RunList &other) const {
        if (begin != other.begin) return false;
        bool equal = true;
        for (int place = begin + lane(); place < MOST; place += 32)
            equal &= value[place] == other.value[place] && units[place] == other.units[place];
        return everywhere(equal);
    }

    __device__ __forceinline__ Real smallest() {
        close();
        return value[begin];
    }

    // --- inside a block ---

    // When `need` units are free.
    __device__ __forceinline__ Real free_at(int need) {
        if (left < need || size == FRONT) {
            close();
            sum_nothing();
            open();
            if (left < need) return far_free_at(need);
        }
        rest = __shfl_sync(ALL, length, 0) - need;
        const Real smallest = __shfl_sync(ALL, front, 0);
        at = 0;
        if (rest >= 0) return smallest;
        int sum = length;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int more = __shfl_up_sync(ALL, sum, step);
            if (lane() >= step) sum += more;
        }
        at = __ffs(__ballot_sync(ALL, sum >= need)) - 1;
        rest = __shfl_sync(ALL, sum, at) - need;
        return __shfl_sync(ALL, front, at);
    }

    // For how long the units that the job takes idle for its sake, from `before` to `start`; of all lanes. Comes after
    // free_at(need).
    __device__ __forceinline__ double idle_before(Real start, Real before) const {
        double sum = 0;
        if (at >= 0) {
            if ((int)lane() <= at) sum = ((int)lane() < at ? length : length - rest) * (start - greater(before, front));
        } else {
            for (int place = far_begin + lane(); place <= far_end; place += 32)
                sum += (place < far_end ? (int)units[place] : far_part) * (start - greater(before, value[place]));
        }
        return total(sum);
    }

    // Take those units out and put a run of `need` units of value v in. Comes after free_at(need).
    __device__ __forceinline__ void take(int need, Real v) {
        // The last run stays if it has units left.
        if (rest > 0 && lane() == at) length = rest;
        const int gone = rest > 0 ? at : at + 1;
        const int to = max(__popc(__ballot_sync(ALL, front < v)) - gone, 0);
        const int from = (int)lane() + gone - ((int)lane() > to);
        const Real w = __shfl_sync(ALL, front, from);
        const int n = __shfl_sync(ALL, length, from);
        front = (int)lane() == to ? v : from < size ? w : INFINITE;
        length = (int)lane() == to ? need : from < size ? n : 0;
        size += 1 - gone;
        left -= need;
    }

  private:
    // Of 32 runs, those that are the first of their value: to the places below `top`. Lanes are in order of place, and
    // rows come from the last to the first, so nothing is written below what has been read.
    __device__ __forceinline__ void keep(bool first, Real w, int before, int &top) {
        const unsigned kept = __ballot_sync(ALL, first);
        __syncwarp();
        const int place = top - __popc(kept >> lane());
        if (first && place >= 0) {
            value[place] = w;
            units[place] = (Units)before;
        }
        top -= __popc(kept);
    }

    __device__ __forceinline__ void start_at(int place) {
        summed = true;
        if (place < 0) overflow();
        else begin = place;
        size = 0;
        left = 0;
        front = INFINITE;
        length = 0;
        __syncwarp();
    }

    // All units in one run, as lengths and as units before it.
    __device__ __forceinline__ void overflow() {
        __syncwarp();
        if (lane() == 0) {
            overflowed = 1;
            value[MOST - 1] = 0;
            units[MOST - 1] = summed ? 0 : (Units)UNITS;
        }
        __syncwarp();
        begin = MOST - 1;
    }

    // From units before a run to its length.
    __device__ __forceinline__ void sum_nothing() {
        if (!summed) return;
        summed = false;
        for (int low = begin; low < MOST; low += 32) {
            const int place = low + lane();
            const int of_run = place < MOST ? first_unit(place + 1) - (int)units[place] : 0;
            __syncwarp();
            if (place < MOST) units[place] = (Units)of_run;
            __syncwarp();
        }
    }

    __device__ __forceinline__ void open() {
        const int place = begin + lane();
        const bool goes = lane() < GO_OUT && place < MOST;
        front = goes ? value[place] : INFINITE;
        length = goes ? (int)units[place] : 0;
        size = min(GO_OUT, MOST - begin);
        begin += size;
        left = __reduce_add_sync(ALL, length);
        __syncwarp();
    }

    // The front back among the rest: run j of the front comes after `rank` runs of the rest, so its place is
    // begin - size + j + rank; the rest keep their order in the places that are left, none above where they are now.
    __device__ __forceinline__ void close() {
        if (size == 0) return;
        if (size > begin) {
            overflow();
            size = 0;
            left = 0;
            return;
        }
        int low = begin, high = MOST;  // of the rest, those before `low` are less
        while (high > low) {
            const int middle = (low + high) >> 1;
            if (value[middle] < front) low = middle + 1;
            else high = middle;
        }
        const bool there = (int)lane() < size;
        const int base = begin - size;
        const int place = there ? (int)lane() + low - begin : -1;  // from `base` on
        const int row_of = place >> 5;
        const unsigned bit = 1u << (place & 31), below = (1u << lane()) - 1;
        const int last_row = __shfl_sync(ALL, row_of, size - 1);
        int before = 0;  // of the front, in earlier rows
#pragma unroll 1
        for (int row = 0; row <= last_row; row += TOGETHER) {
            Real moved[TOGETHER];
            Units length_of[TOGETHER];
            bool moves[TOGETHER];
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t) {
                const unsigned taken = __reduce_or_sync(ALL, row_of == row + t ? bit : 0u);
                const int rank = __popc(taken & below) + before;
                const int from = base + 32 * (row + t) + (int)lane() + size - rank;
                moves[t] = !(taken >> lane() & 1) && rank < size;
                if (moves[t]) {
                    moved[t] = value[from];
                    length_of[t] = units[from];
                }
                before += __popc(taken);
            }
            __syncwarp();
#pragma unroll
            for (int t = 0; t < TOGETHER; ++t)
                if (moves[t]) {
                    value[base + 32 * (row + t) + lane()] = moved[t];
                    units[base + 32 * (row + t) + lane()] = length_of[t];
                }
        }
        __syncwarp();
        if (there) {
            value[base + place] = front;
            units[base + place] = (Units)length;
        }
        __syncwarp();
        begin = base;
        size = 0;
        left = 0;
    }

    // More units than the runs that went out have: they are counted off in shared memory, and the front is left empty,
    // with nothing to be taken from it.
    __device__ __forceinline__ Real far_free_at(int need) {
        close();
        int counted = 0, place;
        unsigned enough;
        int sum;
        for (int low = begin;; low += 32) {
            place = low + lane();
            sum = place < MOST ? (int)units[place] : 0;
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                const int more = __shfl_up_sync(ALL, sum, step);
                if (lane() >= step) sum += more;
            }
            sum += counted;
            enough = __ballot_sync(ALL, sum >= need);
            if (enough) break;
            counted = __shfl_sync(ALL, sum, 31);
        }
        const int last = __ffs(enough) - 1;
        const int over = __shfl_sync(ALL, sum, last) - need;
        const int ends_in = __shfl_sync(ALL, place, last);
        const Real start = value[ends_in];
        far_begin = begin;
        far_end = ends_in;
        far_part = units[ends_in] - over;
        __syncwarp();
        if (over > 0 && lane() == 0) units[ends_in] = (Units)over;
        begin = over > 0 ? ends_in : ends_in + 1;
        __syncwarp();
        front = INFINITE;
        length = 0;
        left = need;  // which the job takes
        at = -1;
        rest = 0;
        return start;
    }
};
