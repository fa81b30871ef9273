// As front.cuh, with one ordered vector a kind. Under strict order `floor`, the last start, stands for every entry below
// it until the block's end.
#pragma once
#include "kinds.cuh"
#include "ordered.cuh"

// Where a kind's places begin.
__device__ constexpr int places_before(int kind) {
    int places = 0;
    for (int t = 0; t < kind; ++t) places += 32 * rows_of(UNITS[t]);
    return places;
}

template <int KIND> struct Vectors : Vectors<KIND - 1> {
    Ordered<UNITS[KIND]> last;
};
template <> struct Vectors<-1> {};

struct State {
    Vectors<KINDS - 1> vectors;
    Real floor;
    double summed_loss[KINDS];  // HOL loss of all jobs served, where the order is not strict; of lane 0

    static constexpr int PLACES = places_before(KINDS);
    static constexpr int SHARED = PLACES * (THREADS / 32) * (int)sizeof(Real);

    template <int KIND> __device__ __forceinline__ Ordered<UNITS[KIND]> &of() {
        return static_cast<Vectors<KIND> &>(vectors).last;
    }
    template <int KIND> __device__ __forceinline__ const Ordered<UNITS[KIND]> &of() const {
        return static_cast<const Vectors<KIND> &>(vectors).last;
    }

    // visit(Kind<T>(), its vector), for every kind.
    template <int T = 0, class Visit> __device__ __forceinline__ void every(Visit visit) {
        visit(Kind<T>(), of<T>());
        if constexpr (T + 1 < KINDS) every<T + 1>(visit);
    }
    template <int T> struct Kind {
        static constexpr int number = T;
    };

    __device__ __forceinline__ void place(char *shared, int chain) {
        Real *const own = (Real *)(shared + chain * SHARED) + threadIdx.x / 32 * PLACES;
        every([&](auto kind, auto &W) ALWAYS_INLINE {
            W.W = own + places_before(kind.number);
            summed_loss[kind.number] = 0;
        });
    }

    __device__ __forceinline__ void put(const Real *row) {
        every([&](auto kind, auto &W) ALWAYS_INLINE {
            W.set([&](int i) ALWAYS_INLINE { return row[first_of(kind.number) + i]; });
        });
        floor = 0;
    }
    __device__ __forceinline__ void fill(Real level) {
        every([&](auto, auto &W) ALWAYS_INLINE { W.set([&](int) ALWAYS_INLINE { return level; }); });
        floor = 0;
    }
    __device__ __forceinline__ void get(Real *row) {
        every([&](auto kind, auto &W) ALWAYS_INLINE {
            W.close();
            W.get(row + first_of(kind.number));
        });
    }
    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        every([&](auto kind, auto &W) ALWAYS_INLINE { equal &= W.equals(row + first_of(kind.number)); });
        return equal;
    }
    __device__ __forceinline__ bool same(const State &other) {
        bool equal = true;
        every([&](auto kind, auto &W) ALWAYS_INLINE { equal &= W.equals(other.template of<kind.number>().W); });
        return equal;
    }

    // Not before `before`, and when all that the job takes is free.
    __device__ __forceinline__ Real start_after(Real before, int job_class) {
        Real start = before;
        every([&](auto kind, auto &W) ALWAYS_INLINE {
            const int need = demand_of(job_class, kind.number);
            if (need > 0) start = greater(start, W.free_at(need, false));
        });
        return start;
    }

    __device__ __forceinline__ Real start(int job_class, Real now) {
        return start_after(STRICT ? greater(now, floor) : now, job_class);
    }

    __device__ __forceinline__ void prepare(int) {}

    __device__ __forceinline__ void step(int job_class, Real now, Real service, bool) {
        const Real before = STRICT ? greater(now, floor) : now;
        const Real start = start_after(before, job_class);
        const Real v = start + service;
        every([&](auto kind, auto &W) ALWAYS_INLINE {
            const int need = demand_of(job_class, kind.number);
            if (need == 0) return;
            if (!STRICT) summed_loss[kind.number] += reserved(W, need, before, start);
            W.take(need, v);
        });
        if (STRICT) floor = start;
    }

    // For how long the servers of a kind that a job takes idle for its sake.
    template <class Vector>
    __device__ __forceinline__ double reserved(Vector &W, int need, Real before, Real start) const {
        W.close();
        double sum = 0;
        for (int i = lane(); i < need; i += 32) sum += start - greater(before, W.W[i]);
        if (W.ALL_IN_FRONT || need <= FRONT) W.open();
        return total(sum);
    }

    __device__ __forceinline__ void rebase(Real now) {
        const Real least = floor;
        every([&](auto, auto &W) ALWAYS_INLINE {
            W.close();
            W.each([&](Real &w, int) ALWAYS_INLINE { w = greater(Real(0), greater(least, w) - now); });
        });
        floor = 0;
    }

    __device__ __forceinline__ Real lower() {
        const Real least = floor;
        Real bottom = INFINITE;
        every([&](auto, auto &W) ALWAYS_INLINE {
            W.close();
            bottom = lesser(bottom, greater(least, W.W[0]));
        });
        every([&](auto, auto &W) ALWAYS_INLINE {
            W.each([&](Real &w, int) ALWAYS_INLINE { w = greater(least, w) - bottom; });
        });
        floor = 0;
        return bottom;
    }

    template <int K, int T = 0> __device__ __forceinline__ Real at_need() const {
        constexpr int need = NEED_DEMAND[K * KINDS + T];
        Real start = 0;
        if constexpr (need > 0) start = of<T>().W[need - 1];
        if constexpr (T + 1 < KINDS) start = greater(start, at_need<K, T + 1>());
        return start;
    }

    template <int T> __device__ __forceinline__ Real idle_until(Real start) const {
        Real sum = 0;
#pragma unroll TOGETHER
        for (int i = lane(); i < UNITS[T]; i += 32) sum += greater(start - of<T>().W[i], Real(0));
        return total(sum);
    }
};
