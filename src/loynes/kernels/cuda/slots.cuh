// Samples are taken by slots, one a team that runs: when a sample is ready, its slot takes the next, whatever the
// others do. A launch ends after `budget` blocks and leaves the slots as they are for the next one.
#pragma once
#include "state.cuh"

struct Slot {
    Index sample;  // -1: none; -2: no more to take
    Index n;       // length of the past being tried
    Index first;   // index of the next job, negative
    int doublings;
    int agreed;  // backward: agreements in a row; perfect: 1 once the two chains have met
};

__device__ __forceinline__ bool take(Slot &slot, unsigned *taken, Index count, Index initial) {
    Index sample = 0;
    if (lane() == 0) sample = atomicAdd(taken, 1u);
    sample = from_first(sample);
    slot = {sample < count ? sample : -2, initial, -initial, 0, 0};
    return sample < count;
}
