// log and exp in double, operation by operation as loynes.inputs.elementary (compiled without contraction to FMA, so the
// bits are the same).
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
