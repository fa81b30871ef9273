// Philox4x32-10, word for word loynes.inputs.philox: key = seed, counter = (index, replica, stream).
#pragma once
#include "real.cuh"

// The round keys are the same for all jobs of a seed: they are laid out beforehand, in constant memory (`keys`).
struct Keys {
    unsigned first[PHILOX_ROUNDS], second[PHILOX_ROUNDS];
};

__device__ __forceinline__ uint4 philox(const Keys &keys, unsigned stream, unsigned replica, unsigned low,
                                        unsigned high) {
    unsigned c0 = low, c1 = high, c2 = replica, c3 = stream;
#pragma unroll
    for (int round = 0; round < PHILOX_ROUNDS; ++round) {
        const unsigned long long product_0 = (unsigned long long)c0 * PHILOX_MULTIPLIER_0;
        const unsigned long long product_1 = (unsigned long long)c2 * PHILOX_MULTIPLIER_1;
        c0 = (unsigned)(product_1 >> 32) ^ c1 ^ keys.first[round];
        c1 = (unsigned)product_1;
        c2 = (unsigned)(product_0 >> 32) ^ c3 ^ keys.second[round];
        c3 = (unsigned)product_0;
    }
    return make_uint4(c0, c1, c2, c3);
}
