// The pile: the saturated system, whose growth a job is 1 / threshold (see kernels/cpu/pile.py),
// in turn or with servers assigned at random (kernels/cpu/random_pile.py): the state's form says which.
#include "weighing.cuh"

// Sums over a replica's jobs, by class and by blocker; lane l keeps those of l, l + LANES, ...
struct Counts {
    static constexpr int OWN_CLASSES = (CLASSES + LANES - 1) / LANES;
    static constexpr int OWN_BLOCKERS = (BLOCKERS + LANES - 1) / LANES;
    unsigned long long jobs[OWN_CLASSES];
    double service[OWN_CLASSES];
    double blocked[OWN_BLOCKERS + 1], longest[OWN_BLOCKERS + 1];

    template <class Change> __device__ __forceinline__ void each_class(Index row, Change change) {
#pragma unroll
        for (int o = 0; o < OWN_CLASSES; ++o) {
            const int c = o * LANES + lane();
            if (c < CLASSES) change(o, row * CLASSES + c);
        }
    }

    template <class Change> __device__ __forceinline__ void each_blocker(Index row, Change change) {
#pragma unroll
        for (int o = 0; o < OWN_BLOCKERS; ++o) {
            const int b = o * LANES + lane();
            if (b < BLOCKERS) change(o, row * BLOCKERS + b);
        }
    }

    __device__ __forceinline__ void add(const Job &job, const int *of_class, const double *waits_for) {
        const double sigma = job.service;
#pragma unroll
        for (int o = 0; o < OWN_CLASSES; ++o)
            if (job.job_class == o * LANES + lane()) {
                jobs[o] += 1;
                service[o] += sigma;
            }
        if (BLOCKERS) {
            const int blocker = of_class[job.job_class];
#pragma unroll
            for (int o = 0; o < OWN_BLOCKERS; ++o) {
                const int b = o * LANES + lane();
                if (b < BLOCKERS) {
                    if (b == blocker) {
                        blocked[o] += longest[o];
                        longest[o] = 0;
                    }
                    longest[o] = greater(longest[o], sigma * waits_for[job.job_class * BLOCKERS + b]);
                }
            }
        }
    }
};

// Heaps as in kernels/tally.py, one row a replica; jobs begin .. end-1, or, with `regenerate`, from `begin` up to and
// with the first job that needs all servers.
extern "C" __global__ void __launch_bounds__(THREADS)
pile(unsigned stream, unsigned first_replica, Index begin, Index end, int rows, int regenerate,
     Real *H, const Real *looked, const int *of_class, const double *waits_for, double *base, double *loss,
     unsigned long long *jobs_of, double *service_of, double *blocked_of, double *longest_of) {
    const Index row = team();
    if (row >= rows) return;
    State state;
    const Jobs jobs = begin_team(stream, state);
    state.put(H + row * SERVERS);
    Counts counts;
    counts.each_class(row, [&](int o, Index at) { counts.jobs[o] = jobs_of[at], counts.service[o] = service_of[at]; });
    counts.each_blocker(row, [&](int o, Index at) {
        counts.blocked[o] = blocked_of[at], counts.longest[o] = longest_of[at];
    });
    const unsigned replica = first_replica + (unsigned)row;
    double height = base[row], lost[KINDS] = {};
    bool flat = false;
    for (Index first = begin; regenerate ? !flat : first < end; first += BLOCK) {
        begin_block(jobs, replica, first, state);
#if WEIGHED
        add_losses(state, looked + seen_at(jobs, replica, first).weights * (Index)weighing.looked, lost);
#else
        if (!regenerate) add_losses(state, looked, lost);
#endif
        jobs.each(replica, first, [&](const Job &job, bool prepared) ALWAYS_INLINE {
            if (flat) return;
            state.step(job.need, 0, job.service, prepared);
            counts.add(job, of_class, waits_for);
            if (regenerate) flat = far_table.need[job.job_class] == SERVERS;
        }, state);
        height += state.lower();
    }
    state.get(H + row * SERVERS);
    counts.each_class(row, [&](int o, Index at) { jobs_of[at] = counts.jobs[o], service_of[at] = counts.service[o]; });
    counts.each_blocker(row, [&](int o, Index at) {
        blocked_of[at] = counts.blocked[o], longest_of[at] = counts.longest[o];
    });
    if (lane() == 0) base[row] = height;
    if (!regenerate) give_losses(state, row, lost, loss);
}
