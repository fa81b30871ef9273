// Just enough of CUDA to run our kernels on a CPU, for tests on machines without a GPU: a warp is 32 coroutines of one
// thread that take turns, and pass the turn on at every warp-wide operation: when it comes back, all are there. Warps and
// blocks run one after the other, as ours never wait for one another. The C++ library's large headers are left out: to
// read them takes longer than to compile a kernel.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

#define __device__
#define __global__
#define __constant__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

template <class T> constexpr const T &max(const T &x, const T &y) { return x < y ? y : x; }
template <class T> constexpr const T &min(const T &x, const T &y) { return y < x ? y : x; }

struct Place {
    unsigned x;
};
inline thread_local Place threadIdx, blockIdx, blockDim;

struct uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <class To, class From> To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To out;
    memcpy(&out, &value, sizeof out);
    return out;
}
inline float __int_as_float(int x) { return same_bits<float>(x); }
inline int __float_as_int(float x) { return same_bits<int>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)high << 32 | (unsigned)low);
}
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
template <class N> N atomicAdd(N *at, N more) {
    N old, sum;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    do sum = old + more;
    while (!__atomic_compare_exchange(at, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// What a thread is to do: a kernel with its arguments.
struct Body {
    void (*call)(const void *);
    const void *with;
    void operator()() const { call(with); }
};

// The lanes of a warp, and what they show one another. A lane is entered by its context once; from then on the turn is
// passed on by jumps, since every change of context asks the operating system for the signals' mask.
struct Warp {
    static constexpr size_t STACK = 1 << 18;
    ucontext_t home, lanes[32];
    jmp_buf stopped[32];
    char *stacks = new char[32 * STACK];
    Body body{};
    unsigned first = 0, left = 0, turn = 0;
    bool entered[32], done[32];
    alignas(8) char shown[32][8];

    ~Warp() { delete[] stacks; }

    static void lane();

    // Let the next lane that is not done go on; the last one to be done goes home.
    void pass_on() {
        if (left == 0) setcontext(&home);
        do turn = (turn + 1) % 32;
        while (done[turn]);
        threadIdx.x = first + turn;
        if (entered[turn]) _longjmp(stopped[turn], 1);
        entered[turn] = true;
        setcontext(&lanes[turn]);
    }

    __attribute__((noinline)) void meet() {
        if (left > 1 && _setjmp(stopped[turn]) == 0) pass_on();
    }

    void run(unsigned first_thread, const Body &what) {
        first = first_thread;
        body = what;
        left = 32;
        for (unsigned i = 0; i < 32; ++i) {
            entered[i] = done[i] = false;
            getcontext(&lanes[i]);
            lanes[i].uc_stack.ss_sp = stacks + i * STACK;
            lanes[i].uc_stack.ss_size = STACK;
            makecontext(&lanes[i], lane, 0);
        }
        turn = 0;
        threadIdx.x = first;
        entered[0] = true;
        swapcontext(&home, &lanes[0]);
    }
};
inline thread_local Warp *warp = nullptr;

inline void Warp::lane() {
    warp->body();
    warp->done[warp->turn] = true;
    --warp->left;
    warp->pass_on();
}

template <class T> T shown_by(T value, unsigned lane) {
    memcpy(warp->shown[threadIdx.x & 31], &value, sizeof value);
    warp->meet();
    T out;
    memcpy(&out, warp->shown[lane & 31], sizeof out);
    warp->meet();
    return out;
}
inline void __syncwarp(unsigned = 0) {
    if (warp) warp->meet();
}
inline unsigned __activemask() { return 0xFFFFFFFFu; }
template <class T> T __shfl_sync(unsigned, T value, unsigned lane) { return shown_by(value, lane); }
template <class T> T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    return shown_by(value, (threadIdx.x & 31) ^ mask);
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned by) {
    const unsigned own = threadIdx.x & 31;
    return shown_by(value, own >= by ? own - by : own);
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned by) {
    const unsigned own = threadIdx.x & 31;
    return shown_by(value, own + by < 32 ? own + by : own);
}
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
template <class Join> unsigned joined(unsigned value, Join join) {
    memcpy(warp->shown[threadIdx.x & 31], &value, sizeof value);
    warp->meet();
    unsigned all = 0, other;
    for (int lane = 0; lane < 32; ++lane) {
        memcpy(&other, warp->shown[lane], sizeof other);
        all = join(all, other);
    }
    warp->meet();
    return all;
}
inline unsigned __reduce_or_sync(unsigned, unsigned value) {
    return joined(value, [](unsigned x, unsigned y) { return x | y; });
}
inline int __reduce_add_sync(unsigned, int value) {
    return (int)joined((unsigned)value, [](unsigned x, unsigned y) { return x + y; });
}
inline unsigned __ballot_sync(unsigned, bool here) {
    unsigned char bit = here;
    memcpy(warp->shown[threadIdx.x & 31], &bit, 1);
    warp->meet();
    unsigned all = 0;
    for (int lane = 0; lane < 32; ++lane) all |= (unsigned)(warp->shown[lane][0] != 0) << lane;
    warp->meet();
    return all;
}
inline unsigned __match_any_sync(unsigned, int value) {
    memcpy(warp->shown[threadIdx.x & 31], &value, sizeof value);
    warp->meet();
    unsigned same = 0;
    for (int lane = 0, other; lane < 32; ++lane) {
        memcpy(&other, warp->shown[lane], sizeof other);
        same |= (unsigned)(other == value) << lane;
    }
    warp->meet();
    return same;
}
inline bool __all_sync(unsigned mask, bool here) { return __ballot_sync(mask, here) == 0xFFFFFFFFu; }
inline bool __any_sync(unsigned mask, bool here) { return __ballot_sync(mask, here) != 0; }

inline void emulate(unsigned blocks, unsigned threads, bool by_warp, const Body &body) {
    warp = by_warp ? new Warp : nullptr;
    blockDim.x = threads;
    for (unsigned block = 0; block < blocks; ++block) {
        blockIdx.x = block;
        for (unsigned first = 0; first < threads; first += 32) {
            if (by_warp) {
                warp->run(first, body);
                continue;
            }
            for (unsigned lane = 0; lane < 32; ++lane) {
                threadIdx.x = first + lane;
                body();
            }
        }
    }
    delete warp;
    warp = nullptr;
}

template <class... A, size_t... I>
void launch_with(void (*kernel)(A...), unsigned blocks, unsigned threads, bool by_warp, void **arguments,
                 std::index_sequence<I...>) {
    const auto call = [&] { kernel(*(A *)arguments[I]...); };
    emulate(blocks, threads, by_warp, {[](const void *with) { (*(decltype(call) *)with)(); }, &call});
}
template <class... A>
void launch(void (*kernel)(A...), unsigned blocks, unsigned threads, bool by_warp, void **arguments) {
    launch_with(kernel, blocks, threads, by_warp, arguments, std::index_sequence_for<A...>{});
}
