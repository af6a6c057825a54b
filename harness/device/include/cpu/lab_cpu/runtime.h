// The interface to the scheduler (in Rust, module cpu::abi). The layouts must be the same in both places.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// The place of a barrier, a warp function or a failure in the user's source.
struct lab_cpu_at {
    const char* file;
    unsigned line;
    static constexpr lab_cpu_at here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        return {file, line};
    }
};

struct lab_cpu_block {
    uint3 index;
    dim3 dim;
    dim3 grid;
    // The predicates that the last block barrier collected from the threads.
    unsigned count, any, all;
    // Dynamic shared memory, and one slot for each static declaration. A slot is null until its first use in this block.
    char* dynamic;
    void** slots;
};

struct lab_cpu_thread {
    uint3 thread_index;
    unsigned lane;
    lab_cpu_block* block;
    // Counts polling loads; one in 64 yields.
    unsigned polls;
    // The lanes that took part in the last warp function.
    unsigned participants;
};

struct lab_cpu_runtime_table {
    // Waits for the lanes of the mask, and returns the 64-bit values of all of them by lane.
    const unsigned long long* (*gather)(lab_cpu_thread*, unsigned mask, unsigned long long value, const char* what,
                                        const char* file, unsigned line);
    float (*warp_sum)(lab_cpu_thread*, unsigned mask, float value, const char* file, unsigned line);
    // Returns the lanes of the warp that wait at this place together.
    unsigned (*active)(lab_cpu_thread*, const char* file, unsigned line);
    void (*block_barrier)(lab_cpu_thread*, unsigned predicate, const char* what, const char* file, unsigned line);
    void (*grid_barrier)(lab_cpu_thread*, const char* what, const char* file, unsigned line);
    void (*yield)(lab_cpu_thread*);
    // Allocates static shared memory at its first use in a block.
    void* (*shared)(lab_cpu_thread*, unsigned slot, size_t size, size_t align);
    [[noreturn]] void (*fail)(lab_cpu_thread*, const char* what, const char* file, unsigned line);
    // 1 for an address in the block's shared memory.
    unsigned (*is_shared)(lab_cpu_thread*, const void*);
    // 1 for an address on the stack of a thread, which is its local memory.
    unsigned (*is_local)(lab_cpu_thread*, const void*);
};

struct lab_cpu_entry {
    const char* name;
    void (*call)(void** arguments);
    const unsigned* sizes;
    unsigned arguments;
    unsigned most_threads;  // of a block, by __launch_bounds__; 0 without it
    lab_cpu_entry* next;
};

// A kernel.cu and the headers it includes are one translation unit, so these exist once in a module.
extern "C" {
__attribute__((visibility("default"), tls_model("initial-exec"))) inline thread_local lab_cpu_thread* lab_cpu_self = nullptr;
__attribute__((visibility("default"))) inline const lab_cpu_runtime_table* lab_cpu_runtime = nullptr;
__attribute__((visibility("default"))) inline lab_cpu_entry* lab_cpu_entries = nullptr;
__attribute__((visibility("default"))) inline unsigned lab_cpu_shared_slots = 0;

// The functions that the loader calls.
__attribute__((visibility("default"), used)) inline lab_cpu_thread** lab_cpu_self_slot() { return &lab_cpu_self; }
__attribute__((visibility("default"), used)) inline void lab_cpu_install(const lab_cpu_runtime_table* table) {
    lab_cpu_runtime = table;
}
__attribute__((visibility("default"), used)) inline const lab_cpu_entry* lab_cpu_first_entry() { return lab_cpu_entries; }
__attribute__((visibility("default"), used)) inline unsigned lab_cpu_slot_count() { return lab_cpu_shared_slots; }
__attribute__((visibility("default"), used)) inline void lab_cpu_flush() { lab_cpu_fflush(nullptr); }
}

// Static __shared__ memory. lab rewrites
//     __shared__ float tile[32];
// to  struct lab_cpu_shared_1 { float tile[32]; }; static_assert(…); auto& tile = lab_cpu_shared<lab_cpu_shared_1>().tile;
// A local struct is a separate type in each function and in each instantiation of a template, so each has its own slot.
template <class T>
inline const unsigned lab_cpu_slot = lab_cpu_shared_slots++;

// The first thread fills the slot. This is not a race of the kernel.
#ifdef LAB_CPU_RACES
#define LAB_CPU_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#else
#define LAB_CPU_UNSEEN
#endif

template <class T>
LAB_CPU_UNSEEN inline T& lab_cpu_shared() {
    void*& slot = lab_cpu_self->block->slots[lab_cpu_slot<T>];
    if (__builtin_expect(!slot, 0)) {
        slot = lab_cpu_runtime->shared(lab_cpu_self, lab_cpu_slot<T>, sizeof(T), alignof(T));
    }
    return *static_cast<T*>(slot);
}

// No constant expression, as on a GPU.
inline int lab_cpu_warp_size() { return 32; }

inline void* lab_cpu_dynamic() { return lab_cpu_self->block->dynamic; }

// One kernel: its name, and a function that calls it with an array of argument addresses.
template <auto kernel>
struct lab_cpu_call;

template <class... P, void (*kernel)(P...)>
struct lab_cpu_call<kernel> {
    static constexpr unsigned sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};

    template <size_t... i>
    static void apply([[maybe_unused]] void** arguments, lab_cpu_indices<i...>) {
        kernel(*static_cast<typename lab_cpu_without_const<P>::type*>(arguments[i])...);
    }
    static void call(void** arguments) { apply(arguments, lab_cpu_first_indices<sizeof...(P)>{}); }
    static constexpr unsigned count = sizeof...(P);
};

// lab appends one of these for each kernel to the unit.
struct lab_cpu_register : lab_cpu_entry {
    template <class Call>
    lab_cpu_register(const char* name, Call, unsigned most_threads)
        : lab_cpu_entry{name, &Call::call, Call::sizes, Call::count, most_threads, lab_cpu_entries} {
        lab_cpu_entries = this;
    }
};

// The first argument of __launch_bounds__.
constexpr unsigned lab_cpu_bounds() { return 0; }
template <class... Rest>
constexpr unsigned lab_cpu_bounds(unsigned most_threads, Rest...) {
    return most_threads;
}

inline void lab_yield() { lab_cpu_runtime->yield(lab_cpu_self); }

// Called by loads and atomics around which a kernel may loop. One call in 64 lets the other threads run. The counter belongs to
// the device, not to the kernel: threads of different blocks use it one after the other.
LAB_CPU_UNSEEN inline void lab_cpu_polled() {
    if (__builtin_expect((++lab_cpu_self->polls & 63) == 0, 0)) lab_yield();
}

template <class T>
inline T lab_cpu_poll(const T* address) {
    lab_yield();
    return *static_cast<const volatile T*>(address);
}

inline void __syncthreads(lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->block_barrier(lab_cpu_self, 0, "__syncthreads()", at.file, at.line);
}
inline int __syncthreads_count(int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->block_barrier(lab_cpu_self, predicate != 0, "__syncthreads_count()", at.file, at.line);
    return int(lab_cpu_self->block->count);
}
inline int __syncthreads_and(int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->block_barrier(lab_cpu_self, predicate != 0, "__syncthreads_and()", at.file, at.line);
    return int(lab_cpu_self->block->all);
}
inline int __syncthreads_or(int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->block_barrier(lab_cpu_self, predicate != 0, "__syncthreads_or()", at.file, at.line);
    return int(lab_cpu_self->block->any);
}

[[noreturn]] inline void __trap(lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->fail(lab_cpu_self, "__trap()", at.file, at.line);
}
[[noreturn]] inline void __brkpt(lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_runtime->fail(lab_cpu_self, "__brkpt()", at.file, at.line);
}
