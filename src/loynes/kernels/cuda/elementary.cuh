// log and exp in double, operation by operation as loynes.inputs.elementary, with its coefficients (compiled without
// contraction to FMA, so the bits are the same).
#pragma once
#include "real.cuh"

__device__ __forceinline__ double log_double(double x) {
    const Index bits = __double_as_longlong(x) + (ONE_BITS - ROOT_BITS);
    const double k = (double)((bits >> 52) - 1023);
    const double f = __longlong_as_double((bits & MANTISSA) + ROOT_BITS) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double even = w * (LOG_EVEN_0 + w * (LOG_EVEN_1 + w * LOG_EVEN_2));
    const double odd = z * (LOG_ODD_0 + w * (LOG_ODD_1 + w * (LOG_ODD_2 + w * LOG_ODD_3)));
    const double half = 0.5 * f * f;
    return k * LN2_HIGH - ((half - (s * (half + (even + odd)) + k * LN2_LOW)) - f);
}

__device__ __forceinline__ double exp_double(double x) {
    x = lesser(greater(x, -EXP_LIMIT), EXP_LIMIT);
    const double k = floor(x * INVERSE_LN2 + 0.5);
    const double high = x - k * LN2_HIGH;
    const double low = k * LN2_LOW;
    const double r = high - low;
    const double t = r * r;
    const double c = r - t * (EXP_0 + t * (EXP_1 + t * (EXP_2 + t * (EXP_3 + t * EXP_4))));
    const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    return y * __longlong_as_double(((Index)k + 1023) << 52);
}
