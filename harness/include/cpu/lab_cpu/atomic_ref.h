// cuda::atomic_ref and cuda::atomic (their loads poll), and cuda::std as an alias of the host's std.
#pragma once

namespace cuda {

namespace std {
using namespace ::std;
}

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

template <class T, thread_scope scope = thread_scope_system>
struct atomic_ref : ::std::atomic_ref<T> {
    using base = ::std::atomic_ref<T>;
    using base::base;
    T load(memory_order order = memory_order_seq_cst) const {
        lab_cpu_polled();
        return base::load(order);
    }
    operator T() const { return load(); }
    template <class... A>
    bool compare_exchange_strong(T& expected, T desired, A... orders) const {
        lab_cpu_polled();
        return base::compare_exchange_strong(expected, desired, orders...);
    }
    template <class... A>
    bool compare_exchange_weak(T& expected, T desired, A... orders) const {
        lab_cpu_polled();
        return base::compare_exchange_weak(expected, desired, orders...);
    }
    T exchange(T desired, memory_order order = memory_order_seq_cst) const {
        lab_cpu_polled();
        return base::exchange(desired, order);
    }
    T fetch_max(T value, memory_order = memory_order_seq_cst) const { return atomicMax(address(), value); }
    T fetch_min(T value, memory_order = memory_order_seq_cst) const { return atomicMin(address(), value); }

  private:
    // As in CUDA's library, the object is one pointer.
    T* address() const {
        static_assert(sizeof(base) == sizeof(T*));
        T* result;
        ::std::memcpy(&result, static_cast<const base*>(this), sizeof result);
        return result;
    }
};

template <class T, thread_scope scope = thread_scope_system>
struct atomic : ::std::atomic<T> {
    using base = ::std::atomic<T>;
    using base::base;
    using base::operator=;
    T load(memory_order order = memory_order_seq_cst) const {
        lab_cpu_polled();
        return base::load(order);
    }
    operator T() const { return load(); }
};

inline void atomic_thread_fence(memory_order order, thread_scope = thread_scope_system) {
    ::std::atomic_thread_fence(order);
}

}  // namespace cuda
