// Jobs from random words: in double bit for bit loynes.inputs.jobs, in float those rounded.
#pragma once
#include "elementary.cuh"
#include "exponential.cuh"
#include "philox.cuh"
#if PROCESS != POISSON
#include "walked.cuh"
#endif

// The model's randomness (loynes.inputs.tables), filled in before a launch.
struct Table {
    double gap_mean;
    unsigned cut[CLASSES];  // class c is drawn when cut[c-1] <= word < cut[c]; the last is never looked at
    int need[CLASSES];
    int kind[CLASSES];  // position of the need in NEED_BY_ODDS
    int first[LAWS + 1];  // of branches: those of classes, then those of gaps
    int needs[NEEDS];  // distinct, ascending
    int demand[CLASSES * KINDS];  // [class][kind], where there are several kinds
#if MOST_SPECIFIC
    int specific[CLASSES * KINDS];  // [class][kind]
#endif
    int recipe[BRANCHES];  // the number of its formula
    double low[BRANCHES], stretch[BRANCHES], p[BRANCHES], q[BRANCHES], r[BRANCHES], add[BRANCHES];
    const double *grid, *pieces;
};

// Unrolled code reads constants at known places; looked-up entries come from memory, where lanes may differ.
#if CLASSES + BRANCHES <= 256
__constant__ Table table;
#else
__device__ Table table;
#endif
__device__ Table far_table;
__constant__ Keys keys;

struct Job {
    Real service, gap;
    int need;       // servers, or the position of that number in NEED_BY_ODDS: whatever a state's step takes
    int job_class;
};

constexpr int FEW_CLASSES = 8;

// What a job's class says of it, where services are exponential and classes few: in shared memory, where lanes read at
// different places at once. Choosing among registers would take three instructions a class.
struct __align__(4 * sizeof(Mean) / sizeof(float)) OfClass {
    Mean mean;
    int need;
};
__shared__ OfClass of_class[CLASSES <= FEW_CLASSES ? CLASSES : 1];

struct Means {
    Mean gap;

    // Every thread writes what it will read; all write the same.
    __device__ __forceinline__ void load() {
        gap = far_table.gap_mean;
        if (CLASSES <= FEW_CLASSES)
            for (int k = 0; k < CLASSES; ++k)
                of_class[k] = {(Mean)far_table.p[k], KIND_IS_NEED ? far_table.need[k] : far_table.kind[k]};
    }
};

__device__ __forceinline__ int pick_class(unsigned word) {
    int c = 0;
    if (CLASSES <= 32) {
        // Chosen, not counted: counting takes an instruction more a class.
#pragma unroll
        for (int k = 0; k < CLASSES - 1; ++k) c = word >= table.cut[k] ? k + 1 : c;
    } else {
        int width = CLASSES - 1;
        while (width > 0) {
            const int half = width >> 1;
            if (word >= far_table.cut[c + half]) {
                c += half + 1;
                width -= half + 1;
            } else {
                width = half;
            }
        }
    }
    return c;
}

__device__ inline double interpolate(int number, double logit) {
    const double place = (logit + TABLE_EDGE) * TABLE_PER_STEP;
    const int cell = (int)place;
    const double f = place - cell;
    const double *node = far_table.grid + 2 * (TABLE_NODES * (Index)number + cell);
    const double y0 = node[0], d0 = node[1], y1 = node[2], d1 = node[3];
    const double rise = y1 - y0;
    return y0 + f * (d0 + f * ((3.0 * rise - (2.0 * d0 + d1)) + f * ((d0 + d1) - 2.0 * rise)));
}

// A straight line from the last of the nodes that is not above u.
__device__ inline double on_pieces(int first, int count, double u) {
    const double *node = far_table.pieces + 3 * (Index)first;
    while (count > 1) {
        const int half = count >> 1;
        if (u >= node[3 * half]) {
            node += 3 * half;
            count -= half;
        } else {
            count = half;
        }
    }
    return node[1] + node[2] * (u - node[0]);
}

// What a branch makes of a uniform that falls into it, in double.
__device__ inline double branch_value(int branch, double u) {
    const Table &t = far_table;
    u = lesser(greater((u - t.low[branch]) * t.stretch[branch], SMALLEST_UNIFORM), LARGEST_UNIFORM);
    const double p = t.p[branch], q = t.q[branch];
    switch (t.recipe[branch]) {
        case DETERMINISTIC: return p;
        case UNIFORM: return p + q * u;
        case PIECES: return on_pieces((int)p, (int)q, u);
        case BOUNDED_PARETO: return p * exp_double(q * -log_double(1.0 - t.r[branch] * u));
    }
    const double energy = -log_double(u);
    switch (t.recipe[branch]) {
        case EXPONENTIAL: return p * energy;
        case PARETO: return p * exp_double(q * energy);
        case WEIBULL: return p * exp_double(q * -(-log_double(energy)));
    }
    return exp_double(interpolate((int)t.r[branch], -energy + -log_double(1.0 - u)));
}

// Any law, in double.
__device__ inline double serve(int c, double u) {
    const Table &t = far_table;
    int branch = t.first[c];
    const int last = t.first[c + 1] - 1;
    while (branch < last && u >= t.low[branch + 1]) ++branch;
    return branch_value(branch, u) + t.add[branch];
}

#if PROCESS != POISSON
// Of a renewal process: from the words for the arrivals' own use.
__device__ inline double renewal_gap(const uint4 &word) {
    return serve(CLASSES, long_uniform(word.x, word.y)) * arrivals.time[0];
}
#endif

#if WALKED
__device__ __forceinline__ Index team();  // the row that is run: known once the team is
#endif

// The job at an index: word 0 picks the class, word 1 the gap, words 2 and 3 the service. Gaps that are not those of
// Poisson arrivals have words of their own; where the process has a memory, it has been walked beforehand.
__device__ __forceinline__ Job draw(const Means &means, unsigned stream, unsigned replica, unsigned low,
                                    unsigned high) {
    uint4 word = philox(keys, stream, replica, low, high);
    Job job;
#if WALKED
    const Index n = (Index)((unsigned long long)high << 32 | low);
    const Index at = team() * walked.by_row + (n - walked.begin) * walked.by_job;
#endif
#if SESSIONS
    repeat_words(word, keys, stream, replica, n, walked.told[at] / (int)arrivals.phases);
#endif
#if MIXED
    job.job_class = pick_mixed(walked.told[at] % (int)arrivals.phases, word.x);
#else
    job.job_class = pick_class(word.x);
#endif
#if PROCESS == POISSON && BITS == 64
    job.gap = SATURATED ? 0.0 : -log_double(short_uniform(word.y)) * table.gap_mean;
#elif PROCESS == POISSON
    job.gap = SATURATED ? 0.0f : short_exponential(word.y, means.gap);
#elif SATURATED
    job.gap = 0;
#elif WALKED
    job.gap = walked.gap[at];
#else
    job.gap = (Real)renewal_gap(philox(keys, stream | MOVES, replica, low, high));
#endif
#if BITS == 64
    job.service = serve(job.job_class, long_uniform(word.z, word.w));
    job.need = KIND_IS_NEED ? far_table.need[job.job_class] : far_table.kind[job.job_class];
#else
    if (SIMPLE && CLASSES <= FEW_CLASSES) {
        const OfClass drawn = of_class[job.job_class];
        job.need = drawn.need;
        job.service = long_exponential(word.z, word.w, drawn.mean);
    } else {
        job.need = KIND_IS_NEED ? far_table.need[job.job_class] : far_table.kind[job.job_class];
        if (SIMPLE)
            job.service = long_exponential(word.z, word.w, far_table.p[job.job_class]);
        else
            job.service = (float)serve(job.job_class, long_uniform(word.z, word.w));
    }
#endif
    return job;
}
