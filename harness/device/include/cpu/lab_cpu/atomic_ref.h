// cuda::atomic_ref and cuda::atomic. Their loads poll. All scopes behave alike on this device. The race detector knows them.
#pragma once

namespace cuda {

enum memory_order : int {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_consume = __ATOMIC_CONSUME,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST,
};

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

// As in CUDA's library, the object is one pointer.
template <class T, thread_scope scope = thread_scope_system>
class atomic_ref {
    T* address;
    using Scope = lab_cpu_scope<scope == thread_scope_block || scope == thread_scope_thread>;
    // A failed exchange stores nothing, so it has no order of a store.
    static int of_failure(int order) {
        return order == memory_order_acq_rel ? memory_order_acquire : order == memory_order_release ? memory_order_relaxed : order;
    }
    bool exchanged(T& expected, T desired, bool weak, int success, int failure) const {
        lab_cpu_polled();
        Scope as_said;
        return __atomic_compare_exchange(address, &expected, &desired, weak, success, failure);
    }

  public:
    explicit atomic_ref(T& object) : address(&object) {}
    T operator=(T value) const {
        store(value);
        return value;
    }
    T load(memory_order order = memory_order_seq_cst) const {
        lab_cpu_polled();
        Scope as_said;
        T value;
        __atomic_load(address, &value, order);
        return value;
    }
    operator T() const { return load(); }
    void store(T value, memory_order order = memory_order_seq_cst) const {
        Scope as_said;
        __atomic_store(address, &value, order);
    }
    T exchange(T value, memory_order order = memory_order_seq_cst) const {
        lab_cpu_polled();
        Scope as_said;
        T before;
        __atomic_exchange(address, &value, &before, order);
        return before;
    }
    bool compare_exchange_strong(T& expected, T desired, memory_order order = memory_order_seq_cst) const {
        return exchanged(expected, desired, false, order, of_failure(order));
    }
    bool compare_exchange_strong(T& expected, T desired, memory_order success, memory_order failure) const {
        return exchanged(expected, desired, false, success, failure);
    }
    bool compare_exchange_weak(T& expected, T desired, memory_order order = memory_order_seq_cst) const {
        return exchanged(expected, desired, true, order, of_failure(order));
    }
    bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure) const {
        return exchanged(expected, desired, true, success, failure);
    }
#define LAB_CPU_FETCH(name, op)                                                                \
    T name(T value, memory_order order = memory_order_seq_cst) const {                         \
        Scope as_said;                                                                   \
        if constexpr (lab_cpu_is_integral<T>) return __atomic_##name(address, value, order);   \
        else return lab_cpu_atomic(address, [=](T x) { return T(x op value); }, order);        \
    }
    LAB_CPU_FETCH(fetch_add, +)
    LAB_CPU_FETCH(fetch_sub, -)
    LAB_CPU_FETCH(fetch_and, &)
    LAB_CPU_FETCH(fetch_or, |)
    LAB_CPU_FETCH(fetch_xor, ^)
#undef LAB_CPU_FETCH
    T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
        Scope as_said;
        return lab_cpu_atomic(address, [=](T x) { return x < value ? value : x; }, order);
    }
    T fetch_min(T value, memory_order order = memory_order_seq_cst) const {
        Scope as_said;
        return lab_cpu_atomic(address, [=](T x) { return value < x ? value : x; }, order);
    }
    T operator++() const { return fetch_add(1) + 1; }
    T operator++(int) const { return fetch_add(1); }
    T operator--() const { return fetch_sub(1) - 1; }
    T operator--(int) const { return fetch_sub(1); }
    T operator+=(T value) const { return fetch_add(value) + value; }
    T operator-=(T value) const { return fetch_sub(value) - value; }
    static constexpr bool is_always_lock_free = sizeof(T) <= 8;
};

template <class T, thread_scope scope = thread_scope_system>
class atomic {
    mutable T value;
    atomic_ref<T, scope> ref() const { return atomic_ref<T, scope>(value); }

  public:
    atomic() = default;
    constexpr atomic(T value) : value(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    T operator=(T to) { return ref() = to; }
    operator T() const { return load(); }
    T load(memory_order order = memory_order_seq_cst) const { return ref().load(order); }
    void store(T to, memory_order order = memory_order_seq_cst) { ref().store(to, order); }
    T exchange(T to, memory_order order = memory_order_seq_cst) { return ref().exchange(to, order); }
    template <class... Orders>
    bool compare_exchange_strong(T& expected, T desired, Orders... orders) {
        return ref().compare_exchange_strong(expected, desired, orders...);
    }
    template <class... Orders>
    bool compare_exchange_weak(T& expected, T desired, Orders... orders) {
        return ref().compare_exchange_weak(expected, desired, orders...);
    }
    T fetch_add(T by, memory_order order = memory_order_seq_cst) { return ref().fetch_add(by, order); }
    T fetch_sub(T by, memory_order order = memory_order_seq_cst) { return ref().fetch_sub(by, order); }
    T fetch_and(T with, memory_order order = memory_order_seq_cst) { return ref().fetch_and(with, order); }
    T fetch_or(T with, memory_order order = memory_order_seq_cst) { return ref().fetch_or(with, order); }
    T fetch_xor(T with, memory_order order = memory_order_seq_cst) { return ref().fetch_xor(with, order); }
    T fetch_max(T with, memory_order order = memory_order_seq_cst) { return ref().fetch_max(with, order); }
    T fetch_min(T with, memory_order order = memory_order_seq_cst) { return ref().fetch_min(with, order); }
    T operator++() { return ++ref(); }
    T operator++(int) { return ref()++; }
    T operator--() { return --ref(); }
    T operator--(int) { return ref()--; }
    T operator+=(T by) { return ref() += by; }
    T operator-=(T by) { return ref() -= by; }
};

inline void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
    if (scope == thread_scope_block) __threadfence_block();
    else if (scope != thread_scope_thread) __atomic_thread_fence(order);
}

namespace std {
using cuda::atomic_thread_fence;
using cuda::memory_order;
using cuda::memory_order_acq_rel;
using cuda::memory_order_acquire;
using cuda::memory_order_consume;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
using cuda::memory_order_seq_cst;
template <class T>
using atomic = cuda::atomic<T>;
template <class T>
using atomic_ref = cuda::atomic_ref<T>;
}  // namespace std

}  // namespace cuda
