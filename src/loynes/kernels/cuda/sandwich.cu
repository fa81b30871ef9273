// Two chains driven by the same jobs, one from below and one from above (see kernels/cpu/sandwich.py).
#include "slots.cuh"

// One block of jobs through the lower state, and through the upper one while they are apart; whether they still are.
__device__ __forceinline__ bool together(const Jobs &jobs, unsigned replica, Index first, State &low, State &high,
                                         bool apart) {
    Real now = 0;
    begin_block(jobs, replica, first, low, high);
    jobs.each(replica, first, [&](const Job &job, bool prepared) ALWAYS_INLINE {
        low.step(job.need, now, job.service, prepared);
        if (apart) high.step(job.need, now, job.service, prepared);
        now += job.gap;
    }, low, high);
    low.rebase(now);
    if (apart) {
        high.rebase(now);
        apart = !low.same(high);
    }
    return apart;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sandwich(unsigned stream, unsigned first_replica, Index begin, Index end, int rows, Real *low,
         Real *high, Index *met) {
    const Index row = team();
    if (row >= rows) return;
    State lower, upper;
    const Jobs jobs = begin_team(stream, lower, upper);
    lower.put(low + row * SERVERS);
    upper.put(high + row * SERVERS);
#if WALKED
    const unsigned replica = walked.replica[row];
#else
    const unsigned replica = first_replica + (unsigned)row;
#endif
    Index at = met[row];
    for (Index first = begin; first < end; first += BLOCK) {
        const bool apart = together(jobs, replica, first, lower, upper, at < 0);
        if (at < 0 && !apart) at = WALKED && first < 0 ? 0 : first + BLOCK;  // in the past, only whether is asked
    }
    lower.get(low + row * SERVERS);
    if (at < 0) upper.get(high + row * SERVERS);
    else lower.get(high + row * SERVERS);
    if (lane() == 0) met[row] = at;
}

extern "C" __global__ void __launch_bounds__(THREADS)
perfect(unsigned stream, unsigned first_replica, Index initial, Index longest, double ceiling,
        double rise, Index count, int slots, int budget, unsigned *taken, Slot *slot_of, Real *unfinished, Real *W,
        Index *length, Index *doublings) {
    const Index number = team();
    if (number >= slots) return;
    Slot slot = slot_of[number];
    State lower, upper;
    const Jobs jobs = begin_team(stream, lower, upper);
    lower.put(unfinished + 2 * number * SERVERS);
    upper.put(unfinished + (2 * number + 1) * SERVERS);
    for (int block = 0; block < budget && slot.sample != -2; ++block) {
        if (slot.sample < 0) {
            if (!take(slot, taken, count, initial)) break;
            lower.fill(0);
            upper.fill((Real)ceiling);
        }
        if (!together(jobs, first_replica + (unsigned)slot.sample, slot.first, lower, upper, slot.agreed == 0))
            slot.agreed = 1;
        slot.first += BLOCK;
        if (slot.first < 0) continue;
        if (slot.agreed || 2 * slot.n > longest) {
            lower.get(W + slot.sample * SERVERS);
            if (lane() == 0) {
                length[slot.sample] = slot.agreed ? slot.n : 0;
                doublings[slot.sample] = slot.doublings + (slot.agreed ? 0 : 1);
            }
            slot.sample = -1;
        } else {
            slot.n *= 2;
            slot.first = -slot.n;
            slot.doublings += 1;
            slot.agreed = 0;
            lower.fill(0);
            upper.fill((Real)(ceiling + rise * slot.doublings));
        }
    }
    lower.get(unfinished + 2 * number * SERVERS);
    upper.get(unfinished + (2 * number + 1) * SERVERS);
    if (lane() == 0) slot_of[number] = slot;
}
