// log and exp in double, operation by operation as loynes.inputs.elementary (compiled without contraction to FMA, so the
// bits are the same); and -log of a uniform in float, from its random bits, so that values near 0 keep their digits.
#pragma once
#include "real.cuh"

__device__ __forceinline__ double log_double(double x) {
    const Index bits = __double_as_longlong(x) + (0x3FF0000000000000ll - 0x3FE6A09E00000000ll);
    const double k = (double)((bits >> 52) - 1023);
    const double f = __longlong_as_double((bits & 0x000FFFFFFFFFFFFFll) + 0x3FE6A09E00000000ll) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double odd = z * (6.666666666666735130e-01 +
                            w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double half = 0.5 * f * f;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + (even + odd)) + k * 1.90821492927058770002e-10)) - f);
}

__device__ __forceinline__ double exp_double(double x) {
    x = lesser(greater(x, -700.0), 700.0);
    const double k = floor(x * 1.44269504088896338700e00 + 0.5);
    const double high = x - k * 6.93147180369123816490e-01;
    const double low = k * 1.90821492927058770002e-10;
    const double r = high - low;
    const double t = r * r;
    const double c = r - t * (1.66666666666666019037e-01 +
                              t * (-2.77777777770155933842e-03 +
                                   t * (6.61375632143793436117e-05 +
                                        t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    return y * __longlong_as_double(((Index)k + 1023) << 52);
}

// -log(u), u = (high + low 2^-32) 2^-32, to 2 ulp. Near 1 (above exp(-1/2)) the logarithm is taken of 1 - (1 - u) with
// 1 - u from the complement of the bits; elsewhere of the mantissa, brought to [2/3, 4/3). The polynomial is a minimax
// fit of (log(1 + f) - f) / f^2, relative error 3e-9.
__device__ __forceinline__ float energy_float(unsigned high, unsigned low) {
    const bool near = high >= 0x9B4597E3u;
    const float y = __fmaf_rn((float)(near ? 0u - low : low), 0x1p-32f, (float)(near ? ~high : high));
    const int bits = __float_as_int(y);
    const int exponent = (bits - 0x3F2AAAAB) & 0xFF800000;
    const float f = near ? y * -0x1p-32f : __int_as_float(bits - exponent) - 1.0f;
    const float k = near ? 0.0f : __fmaf_rn((float)exponent, 0x1p-23f, -32.0f);
    float q = 0x1.6ccfa2p-3f;
    q = __fmaf_rn(q, f, -0x1.0bf2c6p-3f);
    q = __fmaf_rn(q, f, 0x1.76207ap-4f);
    q = __fmaf_rn(q, f, -0x1.f09498p-4f);
    q = __fmaf_rn(q, f, 0x1.282424p-3f);
    q = __fmaf_rn(q, f, -0x1.55beacp-3f);
    q = __fmaf_rn(q, f, 0x1.9978c2p-3f);
    q = __fmaf_rn(q, f, -0x1.fffdb0p-3f);
    q = __fmaf_rn(q, f, 0x1.555584p-2f);
    q = __fmaf_rn(q, f, -0.5f);
    return -__fmaf_rn(k, 0x1.62e430p-1f, __fmaf_rn(f * f, q, f));
}
