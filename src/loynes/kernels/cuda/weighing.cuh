// Where classes depend on the arrival process: what an arrival of a class sees counts as much as the class is likelier
// in the phase of that moment. Jobs of sessions are told by those before them: there the row of weights is that of the
// job's own class.
#pragma once
#include "state.cuh"

#if WEIGHED
// Filled in before a launch. Columns of a tally are classes, those of one need side by side.
struct Weighing {
    const double *more;  // [phase][column]
    const unsigned long long *counted;  // the same as whole numbers
    const int *first;  // of the columns of each need, [NEEDS + 1]
    const int *of_class;  // the column of a class
    int columns, all;  // of waits; and with responses
    int looked;  // length of a row of what losses are computed from
};
__constant__ Weighing weighing;
#define COLUMNS weighing.all

// The arrival that is looked at: the first job of a block.
struct Seen {
    int weights, job_class;
    Real service;
};

__device__ __forceinline__ Seen seen_at(const Jobs &jobs, unsigned replica, Index first) {
#if SESSIONS
    const Job job = draw(jobs.means, jobs.stream, replica, (unsigned)first, (unsigned)(first >> 32));
    return {job.job_class, job.job_class, job.service};
#else
    const Index at = team() * walked.by_row + (first - walked.begin) * walked.by_job;
    return {walked.told[at] % (int)arrivals.phases, 0, 0};
#endif
}
#else
#define COLUMNS NEEDS
#endif
