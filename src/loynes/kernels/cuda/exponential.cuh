// Uniforms from random words, and exponential times in float from the same words.
#pragma once
#include "real.cuh"

// (word + 1/2) 2^-32, and (the leading 52 bits + 1/2) 2^-52: the bits put after the point of a number from 1 to 2.
__device__ __forceinline__ double short_uniform(unsigned word) {
    return __hiloint2double(0x3FF00000 | word >> 12, word << 20 | 0x80000) - 1.0;
}

__device__ __forceinline__ double long_uniform(unsigned high, unsigned low) {
    return __hiloint2double(0x3FF00000 | high >> 12, high << 20 | low >> 12) - (1.0 - 0x1p-53);
}

// (log(1 + f) - f) / f^2, |f| up to 0.4: a minimax fit, relative error 3e-9.
__device__ __forceinline__ float bend(float f) {
    float q = 0x1.6ccfa2p-3f;
    q = __fmaf_rn(q, f, -0x1.0bf2c6p-3f);
    q = __fmaf_rn(q, f, 0x1.76207ap-4f);
    q = __fmaf_rn(q, f, -0x1.f09498p-4f);
    q = __fmaf_rn(q, f, 0x1.282424p-3f);
    q = __fmaf_rn(q, f, -0x1.55beacp-3f);
    q = __fmaf_rn(q, f, 0x1.9978c2p-3f);
    q = __fmaf_rn(q, f, -0x1.fffdb0p-3f);
    q = __fmaf_rn(q, f, 0x1.555584p-2f);
    return __fmaf_rn(q, f, -0.5f);
}

#ifndef DOUBLES_ARE_SLOW
typedef double Mean;

// -log(u) mean to 1.5 ulp: a double, rounded once, whose smaller part was computed in float. No more instructions than
// all in float, and most of them for units that a step leaves idle.
__device__ __forceinline__ float exponential(double u, Mean mean) {
    const int high = __double2hiint(u);
    const int exponent = (high + 0xAAAAB) & 0xFFF00000;  // 0x3FF00000 + 2^20 k, for u = 2^k (1 + f)
    const double f = __hiloint2double(high - exponent + 0x3FF00000, __double2loint(u)) - 1.0;
    const double k = __hiloint2double(0x43300000, exponent) - (0x1p52 + 0x3FF00000);  // 2^20 k: no slow conversion
    const float g = (float)f;
    const double rest = (double)(g * g * bend(g));
    return (float)(__fma_rn(k, -0x1.62e42fefa39efp-21, -f - rest) * mean);
}

__device__ __forceinline__ float short_exponential(unsigned word, Mean mean) {
    return exponential(short_uniform(word), mean);
}

__device__ __forceinline__ float long_exponential(unsigned high, unsigned low, Mean mean) {
    return exponential(long_uniform(high, low), mean);
}
#else
typedef float Mean;

// -log(u) mean to 2.5 x 2^-23, u = (high + low 2^-32) 2^-32. Near 1 (above exp(-1/2)) the logarithm is taken of
// 1 - (1 - u) with 1 - u from the complement of the bits, so that values near 0 keep their digits; elsewhere of the
// mantissa, brought to [2/3, 4/3).
__device__ __forceinline__ float exponential(unsigned high, unsigned low, Mean mean) {
    const bool near = high >= 0x9B4597E3u;
    const float y = __fmaf_rn((float)(near ? 0u - low : low), 0x1p-32f, (float)(near ? ~high : high));
    const int bits = __float_as_int(y);
    const int exponent = (bits - 0x3F2AAAAB) & 0xFF800000;
    const float f = near ? y * -0x1p-32f : __int_as_float(bits - exponent) - 1.0f;
    const float k = near ? 0.0f : __fmaf_rn((float)exponent, 0x1p-23f, -32.0f);
    return -__fmaf_rn(k, 0x1.62e430p-1f, __fmaf_rn(f * f, bend(f), f)) * mean;
}

__device__ __forceinline__ float short_exponential(unsigned word, Mean mean) {
    return exponential(word, 0x80000000u, mean);
}

__device__ __forceinline__ float long_exponential(unsigned high, unsigned low, Mean mean) {
    return exponential(high, (low & 0xFFFFF000u) | 0x800u, mean);
}
#endif
