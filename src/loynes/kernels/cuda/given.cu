// Jobs as given, not drawn: every workload at blocks' ends and every wait, to hold a state's form against the reference;
// and the jobs that are drawn, to hold those.
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
given(int blocks, const int *need, const int *kind, const Real *service, const Real *gap, Real *W, Real *trajectory,
      Real *wait) {
    if (team() > 0) return;
    State state;
    state.place(shared, 0);
    state.put(W);
    for (int block = 0; block < blocks; ++block) {
        Real now = 0;
        for (int j = block * BLOCK; j < (block + 1) * BLOCK; ++j) {
#if FORM == FORM_FRONT || FORM == FORM_RUNS
            const Real start = state.step(kind[j], now, service[j], false);
            if (lane() == 0) wait[j] = start - now;
#elif KINDS > 1
            state.get(W);
            __syncwarp(__activemask());
            Real least = STRICT ? state.floor : Real(0);
            for (int t = 0; t < KINDS; ++t) {
                const int need_of_kind = demand_of(kind[j], t);
                if (need_of_kind > 0) least = greater(least, W[first_of(t) + need_of_kind - 1]);
            }
            __syncwarp(__activemask());
#elif FORM == FORM_WARP
            state.get(W);
            __syncwarp();
            const Real least = W[need[j] - 1];
            __syncwarp();
#else
            const Real least = state.at(need[j]);
#endif
#if FORM != FORM_FRONT && FORM != FORM_RUNS
            if (lane() == 0) wait[j] = greater(now, least) - now;
            state.step(kind[j], now, service[j], false);
#endif
            now += gap[j];
        }
        state.rebase(now);
        state.get(trajectory + block * (Index)SERVERS);
    }
}

extern "C" __global__ void words(unsigned stream, unsigned replica, Index first, int count,
                                 uint4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = philox(keys, stream, replica, (unsigned)(first + i), (unsigned)((first + i) >> 32));
}

extern "C" __global__ void drawn(unsigned stream, unsigned replica, Index first, int count,
                                 int *job_class, Real *service, Real *gap) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Means means;
    means.load();
    const Job job = draw(means, stream, replica, (unsigned)(first + i), (unsigned)((first + i) >> 32));
    job_class[i] = job.job_class;
    service[i] = job.service;
    gap[i] = job.gap;
}
