// The form of the state that the shape asks for, and the team that runs a replica in it.
#pragma once
#if FORM == 0
#include "thread.cuh"
#elif FORM == 1
#include "warp.cuh"
#else
#include "wide.cuh"
#endif

constexpr int TEAMS = THREADS / LANES;  // a block

extern __shared__ __align__(16) char shared[];

__device__ __forceinline__ Index team() { return (Index)blockIdx.x * TEAMS + threadIdx.x / LANES; }
