// What jobs read of arrivals that are not Poisson: the process, and what a walk (walk.cu) has left for a window of jobs.
#pragma once
#include "philox.cuh"

// loynes.inputs.arrivals.ArrivalTable, filled in before a launch.
struct Arrivals {
    Index phases, moves, sizes, mixed, repeat;
    const double *time;
    const Index *row;
    const unsigned long long *cut;
};
__constant__ Arrivals arrivals;

// The jobs from `begin` on of every row: where a row's lie, and a job's in them, depends on who reads them.
struct Walked {
    const Real *gap;
    const int *told;  // phase + phases (jobs of the session that came before), where classes depend on it
    const unsigned *replica;  // of each row
    Index begin, by_row, by_job;
};
__constant__ Walked walked;

// How many of the cuts, which rise, are at most the word.
__device__ __forceinline__ int beyond(const unsigned long long *cut, Index count, unsigned word) {
    int low = 0, high = (int)count;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (word < cut[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Classes that depend on the phase.
__device__ __forceinline__ int pick_mixed(int phase, unsigned word) {
    const Index rows = arrivals.moves + 2 * arrivals.sizes;
    return beyond(arrivals.cut + rows + phase * arrivals.mixed, arrivals.mixed, word);
}

// Give a job of a session the word that picked its first one's class and, if it repeats that, those of its service.
__device__ __forceinline__ void repeat_words(uint4 &word, const Keys &keys, unsigned stream, unsigned replica, Index n,
                                             int before) {
    if (before == 0) return;
    const Index first = n - before;
    const uint4 drawn = philox(keys, stream, replica, (unsigned)first, (unsigned)(first >> 32));
    word.x = drawn.x;
    if ((Index)word.y < arrivals.repeat) {
        word.z = drawn.z;
        word.w = drawn.w;
    }
}
