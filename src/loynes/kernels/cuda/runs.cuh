// One warp a replica, one list of runs a kind of servers (run_list.cuh): for clusters of many servers with few jobs in
// service. Under strict order `floor`, the last start, stands for every entry below it until the block's end.
#pragma once
#include "kinds.cuh"
#if SERVERS < 65536
typedef unsigned short Units;
#else
typedef int Units;
#endif
#include "run_list.cuh"

template <int KIND> using ListOf = RunList<UNITS[KIND], MOST_RUNS[KIND]>;

// Bytes of the lists before a kind's.
template <int KIND> __device__ constexpr int bytes_before() {
    if constexpr (KIND == 0) return 0;
    else return bytes_before<KIND - 1>() + ListOf<KIND - 1>::BYTES;
}

template <int KIND> struct Lists : Lists<KIND - 1> {
    ListOf<KIND> list;
};
template <> struct Lists<-1> {};

// With one kind of servers every start is at least the one before in any case.
constexpr bool FLOOR = STRICT && KINDS > 1;

struct State {
    Lists<KINDS - 1> lists;
    Real floor;
    double summed_loss[KINDS];  // HOL loss of all jobs served, where the order is not strict; of lane 0

    static constexpr int BYTES = bytes_before<KINDS>();
    static constexpr int SHARED = BYTES * (THREADS / 32);

    template <int KIND> struct Kind {
        static constexpr int number = KIND;
    };

    template <int KIND> __device__ __forceinline__ ListOf<KIND> &of() {
        return static_cast<Lists<KIND> &>(lists).list;
    }
    template <int KIND> __device__ __forceinline__ const ListOf<KIND> &of() const {
        return static_cast<const Lists<KIND> &>(lists).list;
    }

    // visit(Kind<T>(), its list), for every kind.
    template <int T = 0, class Visit> __device__ __forceinline__ void every(Visit visit) {
        visit(Kind<T>(), of<T>());
        if constexpr (T + 1 < KINDS) every<T + 1>(visit);
    }

    __device__ __forceinline__ void place(char *shared, int chain) {
        char *const own = shared + chain * SHARED + threadIdx.x / 32 * BYTES;
        every([&](auto kind, auto &list) ALWAYS_INLINE {
            list.place(own + bytes_before<kind.number>());
            summed_loss[kind.number] = 0;
        });
    }

    __device__ __forceinline__ void put(const Real *row) {
        every([&](auto kind, auto &list) ALWAYS_INLINE {
            list.set([&](int i) ALWAYS_INLINE { return row[first_of(kind.number) + i]; });
        });
        floor = 0;
    }
    __device__ __forceinline__ void fill(Real level) {
        every([&](auto, auto &list) ALWAYS_INLINE { list.set([&](int) ALWAYS_INLINE { return level; }); });
        floor = 0;
    }
    __device__ __forceinline__ void get(Real *row) {
        every([&](auto kind, auto &list) ALWAYS_INLINE { list.get(row + first_of(kind.number)); });
    }
    __device__ __forceinline__ bool equals(const Real *row) {
        bool equal = true;
        every([&](auto kind, auto &list) ALWAYS_INLINE { equal &= list.equals(row + first_of(kind.number)); });
        return equal;
    }
    __device__ __forceinline__ bool same(const State &other) {
        bool equal = true;
        every([&](auto kind, auto &list) ALWAYS_INLINE { equal &= list.same(other.template of<kind.number>()); });
        return equal;
    }

    // With one kind of servers jobs say what they need; with several, their class does: the same for all lanes, so from
    // constant memory where that holds the table.
    static __device__ __forceinline__ int need_of(int job_kind, int kind) {
        return KIND_IS_NEED ? job_kind : table.demand[job_kind * KINDS + kind];
    }

    // Not before `before`, and when all that the job takes is free.
    __device__ __forceinline__ Real start_after(Real before, int job_kind) {
        Real start = before;
        every([&](auto kind, auto &list) ALWAYS_INLINE {
            const int need = need_of(job_kind, kind.number);
            if (need > 0) start = greater(start, list.free_at(need));
        });
        return start;
    }

    __device__ __forceinline__ void prepare(int) {}

    // Gives when the job starts.
    __device__ __forceinline__ Real step(int job_kind, Real now, Real service, bool) {
        const Real before = FLOOR ? greater(now, floor) : now;
        const Real start = start_after(before, job_kind);
        const Real v = start + service;
        every([&](auto kind, auto &list) ALWAYS_INLINE {
            const int need = need_of(job_kind, kind.number);
            if (need == 0) return;
            if (!STRICT) summed_loss[kind.number] += list.idle_before(start, before);
            list.take(need, v);
        });
        if (FLOOR) floor = start;
        return start;
    }

    __device__ __forceinline__ void rebase(Real now) {
        const Real least = floor;
        every([&](auto, auto &list) ALWAYS_INLINE {
            list.change([&](Real w) ALWAYS_INLINE { return greater(Real(0), greater(least, w) - now); });
        });
        floor = 0;
    }

    __device__ __forceinline__ Real lower() {
        const Real least = floor;
        Real bottom = INFINITE;
        every([&](auto, auto &list) ALWAYS_INLINE { bottom = lesser(bottom, greater(least, list.smallest())); });
        every([&](auto, auto &list) ALWAYS_INLINE {
            list.change([&](Real w) ALWAYS_INLINE { return greater(least, w) - bottom; });
        });
        floor = 0;
        return bottom;
    }

    // What follows is asked between blocks.

#if KINDS == 1
    __device__ __forceinline__ Real at(int need) const { return of<0>().at_need(need); }

    // The expected HOL loss (see thread.cuh): the level rises only where a run begins.
    __device__ __forceinline__ double loss(const Real *idled) const {
        const auto &list = of<0>();
        Real sum = 0;
        for (int place = list.begin + 1 + lane(); place < list.MOST; place += 32)
            if (list.units[place] < LARGEST_NEED)
                sum += idled[list.units[place]] * (list.value[place] - list.value[place - 1]);
        return total(sum);
    }
#else
    template <int K, int T = 0> __device__ __forceinline__ Real at_need() const {
        constexpr int need = NEED_DEMAND[K * KINDS + T];
        Real start = 0;
        if constexpr (need > 0) start = of<T>().at_need(need);
        if constexpr (T + 1 < KINDS) start = greater(start, at_need<K, T + 1>());
        return start;
    }

    template <int T> __device__ __forceinline__ Real idle_until(Real start) const {
        Real sum = 0;
        of<T>().each([&](Real w, int i, int next) ALWAYS_INLINE { sum += (next - i) * greater(start - w, Real(0)); });
        return total(sum);
    }
#endif
};
