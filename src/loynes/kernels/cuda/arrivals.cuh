// Steps of the arrival process from job to job, ahead and back; bit for bit loynes.inputs.arrivals, its `periodic` and
// its `sessions`.
#pragma once
#include "jobs.cuh"

constexpr double UNIT = 1.0 / CYCLE_UNITS;

struct Walker {
    unsigned stream, replica;

    __device__ __forceinline__ uint4 words(Index n, unsigned moves) const {
        return philox(keys, stream | MOVES | moves << GROUP_SHIFT, replica, (unsigned)n, (unsigned)(n >> 32));
    }

    // The gap after job n, which left the process at x; x becomes the place at job n + 1.
    __device__ __forceinline__ double ahead(Index n, Index &x) const {
        const Index m = arrivals.phases;
        if (PROCESS == RECORDED) {
            const double gap = arrivals.time[x];
            x = x + 1 < m ? x + 1 : 0;
            return gap;
        }
        if (BATCHES && x >= m) {
            x -= m;
            return 0;
        }
        const uint4 word = words(n, 0);
        if (PROCESS == PERIODIC) return later(x, energy(word));
        if (SESSIONS) {
            const Index position = x / m;
            Index phase = x % m;
            if (position >= arrivals.sizes) {
                x = phase + m * (position + 1 - arrivals.sizes);
                return session_gap(word);
            }
            const double gap = to_next(n, word, phase);
            x = phase + m * arrivals.sizes * size_of(word);
            return gap;
        }
        const double gap = to_next(n, word, x);
        if (BATCHES) x += m * size_of(word);
        return gap;
    }

    // The same into the past: x is the place at job n + 1, and becomes that at job n.
    __device__ __forceinline__ double behind(Index n, Index &x) const {
        const Index m = arrivals.phases;
        if (PROCESS == RECORDED) {
            x = x > 0 ? x - 1 : m - 1;
            return arrivals.time[x];
        }
        const uint4 word = words(n, 0);
        if (PROCESS == PERIODIC) return earlier(x, energy(word));
        if (SESSIONS) {
            const Index position = x / m;
            Index phase = x % m;
            if (position % arrivals.sizes > 0) {
                x = phase + m * (position - 1 + arrivals.sizes);
                return session_gap(word);
            }
            const double gap = to_last(n, word, phase);
            x = phase + m * size_of(word);
            return gap;
        }
        if (BATCHES) {
            if (word.z < arrivals.cut[arrivals.moves + arrivals.sizes + x / m]) {
                x += m;
                return 0;
            }
            x %= m;
        }
        return to_last(n, word, x);
    }

private:
    static __device__ __forceinline__ double energy(const uint4 &word) {
        return -log_double(long_uniform(word.x, word.y));
    }

    static __device__ __forceinline__ double session_gap(const uint4 &word) {
        constexpr int law = CLASSES + (PROCESS == RENEWAL);
        return serve(law, long_uniform(word.x, word.y)) * arrivals.time[arrivals.phases];
    }

    // One less than the size of a batch or session.
    static __device__ __forceinline__ Index size_of(const uint4 &word) {
        return beyond(arrivals.cut + arrivals.moves, arrivals.sizes, word.z);
    }

    static __device__ __forceinline__ Index pick(Index row, unsigned word) {
        Index k = arrivals.row[row];
        while (word >= arrivals.cut[k]) ++k;
        return arrivals.row[3 * arrivals.phases + 1 + k];
    }

    static __device__ __forceinline__ double stay(Index phase, unsigned word) {
        return -log_double(short_uniform(word)) * arrivals.time[phase];
    }

    __device__ __forceinline__ double to_next(Index n, uint4 word, Index &phase) const {
        if (PROCESS == RENEWAL) return renewal_gap(word);
        double gap = 0;
        for (unsigned moves = 1;; ++moves) {
            gap += stay(phase, word.y);
            const Index to = pick(phase, word.x);
            phase = to >> 1;
            if (to & 1) return gap;
            word = words(n, moves);
        }
    }

    __device__ __forceinline__ double to_last(Index n, uint4 word, Index &phase) const {
        if (PROCESS == RENEWAL) return renewal_gap(word);
        phase = pick(2 * arrivals.phases + phase, word.w) >> 1;
        double gap = 0;
        for (unsigned moves = 1;; ++moves) {
            gap += stay(phase, word.y);
            const Index to = pick(arrivals.phases + phase, word.x);
            if (to & 1) return gap;
            phase = to >> 1;
            word = words(n, moves);
        }
    }

    // A rate that repeats with a cycle: the job e expected jobs later, or earlier.
    static __device__ __forceinline__ double later(Index &x, double e) {
        const Index m = arrivals.phases, r = x / m;
        const double *time = arrivals.time;
        Index slot = x % m, start = r;
        const double cycles = floor(e / time[m]);
        e = greater(e - cycles * time[m], 0.0);
        double passed = cycles * (double)m, left = time[slot] * (1.0 - (double)r * UNIT);
        while (time[slot] == 0.0 || e > left) {
            e -= left;
            slot = slot + 1 < m ? slot + 1 : 0;
            passed += 1.0;
            start = 0;
            left = time[slot];
        }
        Index to = start + (Index)(e / time[slot] * CYCLE_UNITS + 0.5);
        to = to < (Index)CYCLE_UNITS - 1 ? to : (Index)CYCLE_UNITS - 1;
        x = slot + m * to;
        return (passed * CYCLE_UNITS + (double)(to - r)) * time[m + 1];
    }

    static __device__ __forceinline__ double earlier(Index &x, double e) {
        const Index m = arrivals.phases, r = x / m;
        const double *time = arrivals.time;
        Index slot = x % m, start = r;
        const double cycles = floor(e / time[m]);
        e = greater(e - cycles * time[m], 0.0);
        double passed = cycles * (double)m, left = time[slot] * ((double)r * UNIT);
        while (time[slot] == 0.0 || e > left) {
            e -= left;
            slot = slot > 0 ? slot - 1 : m - 1;
            passed += 1.0;
            start = (Index)CYCLE_UNITS;
            left = time[slot];
        }
        Index to = start - (Index)(e / time[slot] * CYCLE_UNITS + 0.5);
        to = to > 0 ? to : 0;
        to = to < (Index)CYCLE_UNITS - 1 ? to : (Index)CYCLE_UNITS - 1;
        x = slot + m * to;
        return (passed * CYCLE_UNITS + (double)(r - to)) * time[m + 1];
    }
};
