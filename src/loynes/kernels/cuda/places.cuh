// Which places of an ordered vector a job takes that asks for specific servers, as bits in shared memory: word r has
// places 32 r .. 32 r + 31. Each lane looks after as many words in a row, so lanes are in the order of places.
#pragma once
#include "assignment.cuh"

struct Ends {
    int first, last;
};

// The place of the bit that has `rank` set ones below it.
__device__ __forceinline__ int place_of(unsigned bits, int rank) {
    int place = 0;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        const int below = __popc(bits & ((1u << half) - 1));
        if (rank >= below) {
            rank -= below;
            bits >>= half;
            place += half;
        }
    }
    return place;
}

// Take `specific` places at random, drawn from a job's words number `next` on, and the first `others` of the rest (as
// loynes.inputs.jobs.places: a place is drawn by its number among those that are left).
__device__ __forceinline__ Ends choose(unsigned *taken, int size, Words &words, int &next, int others, int specific) {
    const int rows = (size + 31) / 32, each = (rows + 31) / 32, own = each * (int)lane();
    int before = 32 * own;  // places that are left in earlier lanes' words
    Ends ends{size, -1};
    for (int r = own; r < min(own + each, rows); ++r) taken[r] = 0;

    // Of the place that has `rank` before it among those left: whose it is, and where he finds it.
    int whose = 0;
    const auto find = [&](int rank) ALWAYS_INLINE {
        whose = __popc(__ballot_sync(ALL, before <= rank)) - 1;
        int place = -1;
        if ((int)lane() == whose) {
            rank -= before;
            int r = own;
            for (int left = __popc(~taken[r]); rank >= left; left = __popc(~taken[r])) {
                rank -= left;
                ++r;
            }
            place = 32 * r + place_of(~taken[r], rank);
        }
        return place;
    };

    for (int i = 0; i < specific; ++i) {
        const int place = find((int)((unsigned long long)words.number(next + i) * (unsigned)(size - i) >> 32));
        if (place >= 0) {
            taken[place / 32] |= 1u << (place & 31);
            ends.first = min(ends.first, place);
            ends.last = max(ends.last, place);
        }
        if ((int)lane() > whose) --before;
    }
    next += specific;
    const unsigned some = __ballot_sync(ALL, ends.last >= 0);
    ends.first = __shfl_sync(ALL, ends.first, __ffs(some) - 1);
    ends.last = __shfl_sync(ALL, ends.last, 31 - __clz(some));
    if (others > 0) {
        // All places up to the last of them are taken, for one reason or the other.
        const int found = find(others - 1), upto = __shfl_sync(ALL, found, whose);
        for (int r = own; r < min(own + each, rows) && 32 * r <= upto; ++r)
            taken[r] |= upto - 32 * r >= 31 ? ~0u : (2u << (upto & 31)) - 1;
        ends = {0, max(ends.last, upto)};
    }
    __syncwarp();
    return ends;
}
