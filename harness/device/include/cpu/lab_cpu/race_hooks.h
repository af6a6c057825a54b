// The functions that a kernel built with -fsanitize=thread calls at each access to memory. They are the entry points of
// ThreadSanitizer, but here they call lab's own race detector (in Rust, module cpu::races), which knows CUDA's barriers. libtsan is
// not linked. The compilers define the names and parameters (GCC: gcc/sanitizer.def). They are compiled once, with lab_cpu_races.h
// before them, and linked to each kernel.
#pragma once

enum : unsigned { lab_cpu_writes = 1, lab_cpu_relaxed = 2 };  // bits of an access's kind
enum : unsigned { lab_cpu_loads, lab_cpu_stores, lab_cpu_modifies };

struct lab_cpu_races_table {
    void (*access)(lab_cpu_thread*, const volatile void* address, size_t bytes, unsigned kind, const void* pc);
    // Called before the operation. `order` is a C++ memory order.
    void (*atomic)(lab_cpu_thread*, const volatile void* address, size_t bytes, unsigned kind, unsigned order, const void* pc);
    void (*fence)(lab_cpu_thread*);
    // The atomics and the fences that follow have the scope of a block, or again that of the device.
    void (*scope)(lab_cpu_thread*, unsigned is_block);
    // Called before a load of memory that no thread of the launch may write.
    void (*read_only)(lab_cpu_thread*, const volatile void* address, size_t bytes, const void* pc);
};

extern "C" {
static const lab_cpu_races_table* lab_cpu_races = nullptr;
__attribute__((used, no_sanitize("thread"), visibility("default"))) void lab_cpu_install_races(const lab_cpu_races_table* table) {
    lab_cpu_races = table;
}

// Outside a launch there is only one thread.
#define LAB_CPU_HOOK __attribute__((used, noinline, no_sanitize("thread"), visibility("hidden")))
#define LAB_CPU_TELL(address, bytes, kind) \
    if (lab_cpu_self) lab_cpu_races->access(lab_cpu_self, address, bytes, kind, __builtin_return_address(0))

LAB_CPU_HOOK void __tsan_init() {}
LAB_CPU_HOOK void __tsan_func_entry(void*) {}
LAB_CPU_HOOK void __tsan_func_exit() {}
// The pointer to an object's virtual functions.
LAB_CPU_HOOK void __tsan_vptr_update(void** a, void*) { LAB_CPU_TELL(a, sizeof *a, lab_cpu_writes); }
LAB_CPU_HOOK void __tsan_vptr_read(void** a) { LAB_CPU_TELL(a, sizeof *a, 0); }
LAB_CPU_HOOK void __tsan_read_range(void* a, long bytes) { LAB_CPU_TELL(a, size_t(bytes), 0); }
LAB_CPU_HOOK void __tsan_write_range(void* a, long bytes) { LAB_CPU_TELL(a, size_t(bytes), lab_cpu_writes); }

#define LAB_CPU_ACCESSES(n)                                                                                  \
    LAB_CPU_HOOK void __tsan_read##n(void* a) { LAB_CPU_TELL(a, n, 0); }                                     \
    LAB_CPU_HOOK void __tsan_write##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_writes); }                       \
    LAB_CPU_HOOK void __tsan_unaligned_read##n(void* a) { LAB_CPU_TELL(a, n, 0); }                           \
    LAB_CPU_HOOK void __tsan_unaligned_write##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_writes); }             \
    LAB_CPU_HOOK void __tsan_volatile_read##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_relaxed); }              \
    LAB_CPU_HOOK void __tsan_volatile_write##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_relaxed | lab_cpu_writes); } \
    LAB_CPU_HOOK void __tsan_unaligned_volatile_read##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_relaxed); }    \
    LAB_CPU_HOOK void __tsan_unaligned_volatile_write##n(void* a) { LAB_CPU_TELL(a, n, lab_cpu_relaxed | lab_cpu_writes); }
LAB_CPU_ACCESSES(1)
LAB_CPU_ACCESSES(2)
LAB_CPU_ACCESSES(4)
LAB_CPU_ACCESSES(8)
LAB_CPU_ACCESSES(16)
#undef LAB_CPU_ACCESSES

// The compiler calls these two for a kernel's memcpy and memset, and accesses no memory itself for them.
LAB_CPU_HOOK void* memcpy(void* to, const void* from, size_t bytes) {
    LAB_CPU_TELL(from, bytes, 0);
    LAB_CPU_TELL(to, bytes, lab_cpu_writes);
    return __builtin_memmove(to, from, bytes);
}
LAB_CPU_HOOK void* memset(void* to, int value, size_t bytes) {
    LAB_CPU_TELL(to, bytes, lab_cpu_writes);
    for (size_t i = 0; i < bytes; ++i) static_cast<volatile unsigned char*>(to)[i] = (unsigned char)value;
    return to;
}

#define LAB_CPU_TELL_ATOMIC(kind, order)                                                                              \
    if (lab_cpu_self) lab_cpu_races->atomic(lab_cpu_self, a, sizeof *a, kind, unsigned(order), __builtin_return_address(0))
#define LAB_CPU_ATOMICS(bits, T)                                                                                      \
    LAB_CPU_HOOK T __tsan_atomic##bits##_load(const volatile T* a, int order) {                                       \
        LAB_CPU_TELL_ATOMIC(lab_cpu_loads, order);                                                                    \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                 \
    LAB_CPU_HOOK void __tsan_atomic##bits##_store(volatile T* a, T v, int order) {                                    \
        LAB_CPU_TELL_ATOMIC(lab_cpu_stores, order);                                                                   \
        __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                     \
    }                                                                                                                 \
    LAB_CPU_HOOK T __tsan_atomic##bits##_exchange(volatile T* a, T v, int order) {                                    \
        LAB_CPU_TELL_ATOMIC(lab_cpu_modifies, order);                                                                 \
        return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                                           \
    }                                                                                                                 \
    LAB_CPU_HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* expected, T v, int order, int) { \
        LAB_CPU_TELL_ATOMIC(lab_cpu_modifies, order);                                                                 \
        return __atomic_compare_exchange_n(a, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    }                                                                                                                 \
    LAB_CPU_HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* expected, T v, int order, int) {   \
        LAB_CPU_TELL_ATOMIC(lab_cpu_modifies, order);                                                                 \
        return __atomic_compare_exchange_n(a, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    }                                                                                                                 \
    LAB_CPU_MODIFY(bits, T, add)                                                                                      \
    LAB_CPU_MODIFY(bits, T, sub)                                                                                      \
    LAB_CPU_MODIFY(bits, T, and)                                                                                      \
    LAB_CPU_MODIFY(bits, T, or)                                                                                       \
    LAB_CPU_MODIFY(bits, T, xor)                                                                                      \
    LAB_CPU_MODIFY(bits, T, nand)
#define LAB_CPU_MODIFY(bits, T, name)                                                     \
    LAB_CPU_HOOK T __tsan_atomic##bits##_fetch_##name(volatile T* a, T v, int order) {    \
        LAB_CPU_TELL_ATOMIC(lab_cpu_modifies, order);                                     \
        return __atomic_fetch_##name(a, v, __ATOMIC_SEQ_CST);                             \
    }
LAB_CPU_ATOMICS(8, unsigned char)
LAB_CPU_ATOMICS(16, unsigned short)
LAB_CPU_ATOMICS(32, unsigned)
LAB_CPU_ATOMICS(64, unsigned long)
#undef LAB_CPU_ATOMICS
#undef LAB_CPU_MODIFY
#undef LAB_CPU_TELL_ATOMIC
#undef LAB_CPU_TELL

// Memory that a thread frees is not handed to another one: the detector would take the second owner's accesses for a race.
LAB_CPU_HOOK void free(void*) {}

LAB_CPU_HOOK void lab_cpu_race_scope(unsigned is_block) {
    if (lab_cpu_self) lab_cpu_races->scope(lab_cpu_self, is_block);
}
LAB_CPU_HOOK void lab_cpu_race_read_only(const volatile void* address, size_t bytes) {
    if (lab_cpu_self) lab_cpu_races->read_only(lab_cpu_self, address, bytes, __builtin_return_address(0));
}

LAB_CPU_HOOK void __tsan_atomic_thread_fence(int) {
    if (lab_cpu_self) lab_cpu_races->fence(lab_cpu_self);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
LAB_CPU_HOOK void __tsan_atomic_signal_fence(int) {}
}

__attribute__((used)) void operator delete(void*) noexcept {}
__attribute__((used)) void operator delete(void*, size_t) noexcept {}
__attribute__((used)) void operator delete[](void*) noexcept {}
__attribute__((used)) void operator delete[](void*, size_t) noexcept {}
