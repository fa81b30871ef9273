// The number a workload is: float or double (BITS), its infinity, and a median's two halves.
#pragma once

#if BITS == 64
typedef double Real;
typedef unsigned long long RealBits;
#define INFINITE __longlong_as_double(0x7FF0000000000000ll)
#else
typedef float Real;
typedef unsigned RealBits;
#define INFINITE __int_as_float(0x7F800000)
#endif

// Workloads are never NaN, so a comparison and a choice are enough; for float they become one instruction.
__device__ __forceinline__ float lesser(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float greater(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double lesser(double x, double y) { return x < y ? x : y; }
__device__ __forceinline__ double greater(double x, double y) { return x > y ? x : y; }

typedef long long Index;

// For lambdas: a state captured by one that is not inlined would live in memory instead of registers.
#define ALWAYS_INLINE __attribute__((always_inline))

constexpr unsigned ALL = 0xFFFFFFFFu;
