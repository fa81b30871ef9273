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

    // What a job's own words say, wherever the process stands.
    struct Drawn {
        uint4 word;
        double value;   // a renewal's gap; how many expected jobs apart (periodic); a stay, in means (modulated)
        double within;  // the gap to the next job of the same session
    };

    __device__ __forceinline__ Drawn drawn(Index n) const {
        Drawn job{};
        if (PROCESS == RECORDED) return job;
        job.word = words(n, 0);
        if (PROCESS == RENEWAL) job.value = renewal_gap(job.word);
        if (PROCESS == PERIODIC) job.value = -log_double(long_uniform(job.word.x, job.word.y));
        if (PROCESS == MODULATED) job.value = stay(job.word.y);
        if (SESSIONS) {
            constexpr int law = CLASSES + (PROCESS == RENEWAL);
            job.within = serve(law, long_uniform(job.word.x, job.word.y)) * arrivals.time[arrivals.phases];
        }
        return job;
    }

    // The gap after job n, which left the process at x; x becomes the place at job n + 1.
    __device__ __forceinline__ double ahead(Index n, const Drawn &job, Index &x) const {
        const Index m = arrivals.phases;
        if (PROCESS == RECORDED) {
            const double gap = arrivals.time[x];
            x = x + 1 < m ? x + 1 : 0;
            return gap;
        }
        if (PROCESS == PERIODIC) return later(x, job.value);
        if (SESSIONS) {
            const Index position = x / m;
            Index phase = x % m;
            if (position >= arrivals.sizes) {
                x = phase + m * (position + 1 - arrivals.sizes);
                return job.within;
            }
            const double gap = to_next(n, job, phase);
            x = phase + m * arrivals.sizes * size_of(job);
            return gap;
        }
        if (BATCHES && x >= m) {
            x -= m;
            return 0;
        }
        const double gap = to_next(n, job, x);
        if (BATCHES) x += m * size_of(job);
        return gap;
    }

    // The same into the past: x is the place at job n + 1, and becomes that at job n.
    __device__ __forceinline__ double behind(Index n, const Drawn &job, Index &x) const {
        const Index m = arrivals.phases;
        if (PROCESS == RECORDED) {
            x = x > 0 ? x - 1 : m - 1;
            return arrivals.time[x];
        }
        if (PROCESS == PERIODIC) return earlier(x, job.value);
        if (SESSIONS) {
            const Index position = x / m;
            Index phase = x % m;
            if (position % arrivals.sizes > 0) {
                x = phase + m * (position - 1 + arrivals.sizes);
                return job.within;
            }
            const double gap = to_last(n, job, phase);
            x = phase + m * size_of(job);
            return gap;
        }
        if (BATCHES) {
            if (job.word.z < arrivals.cut[arrivals.moves + arrivals.sizes + x / m]) {
                x += m;
                return 0;
            }
            x %= m;
        }
        return to_last(n, job, x);
    }

private:
    // One less than the size of a batch or session.
    static __device__ __forceinline__ Index size_of(const Drawn &job) {
        return beyond(arrivals.cut + arrivals.moves, arrivals.sizes, job.word.z);
    }

    static __device__ __forceinline__ Index pick(Index row, unsigned word) {
        Index k = arrivals.row[row];
        while (word >= arrivals.cut[k]) ++k;
        return arrivals.row[3 * arrivals.phases + 1 + k];
    }

    // In means; in float to 1.5 ulp, as gaps of Poisson arrivals are.
    static __device__ __forceinline__ double stay(unsigned word) {
#if BITS == 64
        return -log_double(short_uniform(word));
#else
        return short_exponential(word, Mean(1));
#endif
    }

    __device__ __forceinline__ double to_next(Index n, const Drawn &job, Index &phase) const {
        if (PROCESS == RENEWAL) return job.value;
        double gap = job.value * arrivals.time[phase];
        Index to = pick(phase, job.word.x);
        for (unsigned moves = 1; !(to & 1); ++moves) {
            phase = to >> 1;
            const uint4 word = words(n, moves);
            gap += stay(word.y) * arrivals.time[phase];
            to = pick(phase, word.x);
        }
        phase = to >> 1;
        return gap;
    }

    __device__ __forceinline__ double to_last(Index n, const Drawn &job, Index &phase) const {
        if (PROCESS == RENEWAL) return job.value;
        const Index m = arrivals.phases;
        phase = pick(2 * m + phase, job.word.w) >> 1;
        double gap = job.value * arrivals.time[phase];
        Index to = pick(m + phase, job.word.x);
        for (unsigned moves = 1; !(to & 1); ++moves) {
            phase = to >> 1;
            const uint4 word = words(n, moves);
            gap += stay(word.y) * arrivals.time[phase];
            to = pick(m + phase, word.x);
        }
        return gap;
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
