// Backward samples: the workload at time 0 of a system started empty ever further back (see kernels/cpu/backward.py).
#include "slots.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
backward(unsigned stream, unsigned first_replica, Index initial, int confirmations,
         Index longest, Index count, int slots, int budget, unsigned *taken, Slot *slot_of, Real *unfinished, Real *W,
         Index *length, Index *doublings) {
    const Index number = team();
    if (number >= slots) return;
    Slot slot = slot_of[number];
    State state;
    const Jobs jobs = begin_team(stream, state);
    state.put(unfinished + number * SERVERS);
    for (int block = 0; block < budget && slot.sample != -2; ++block) {
        if (slot.sample < 0) {
            if (!take(slot, taken, count, initial)) break;
            state.fill(0);
        }
        Real now = 0;
        const unsigned replica = first_replica + (unsigned)slot.sample;
        begin_block(jobs, replica, slot.first, state);
        jobs.each(replica, slot.first, [&](const Job &job, bool prepared) ALWAYS_INLINE {
            state.step(job.need, now, job.service, prepared);
            now += job.gap;
        }, state);
        state.rebase(now);
        slot.first += BLOCK;
        if (slot.first < 0) continue;
        Real *row = W + slot.sample * SERVERS;
        if (slot.n > initial) {
            slot.doublings += 1;
            slot.agreed = state.equals(row) ? slot.agreed + 1 : 0;
        }
        const bool agreed = slot.agreed == confirmations;
        if (!agreed) state.get(row);
        if (agreed || slot.n >= longest) {
            if (lane() == 0) {
                length[slot.sample] = agreed ? slot.n : 0;
                doublings[slot.sample] = slot.doublings;
            }
            slot.sample = -1;
        } else {
            slot.n *= 2;
            slot.first = -slot.n;
            state.fill(0);
        }
    }
    state.get(unfinished + number * SERVERS);
    if (lane() == 0) slot_of[number] = slot;
}
