// Runs the CUDA threads of a kernel on the processor. harness_cpu.py compiles this file together with the kernel.
//
// A block runs on an OS thread. Its CUDA threads are coroutines of that OS thread: one runs at a time, until it has to
// wait for others. Then the next one runs, round and round. lab_cpu.h (harness/device/include/cpu) gives the kernel CUDA's
// names, and calls the functions in `table` below where threads meet.
#include "lab_cpu/standard.h"
#include "lab_cpu/runtime.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace {

constexpr size_t STACK = 64 << 10, GUARD = 64 << 10;  // bytes; whoever runs over the stack hits the guard and crashes

// The lanes of a mask that meet, each with a value. Two meetings in a row use different halves, because a lane may still
// read the values of one meeting while others come to the next.
struct Meeting {
    unsigned mask = 0, arrived = 0, took_part[2] = {};
    unsigned long long values[2][32] = {};
    unsigned long long number = 0;  // meetings so far
};

struct Warp {
    unsigned alive = 0;             // lanes that have not returned
    std::vector<std::unique_ptr<Meeting>> meetings;  // one for each mask
};

struct Thread : lab_cpu_thread {
    Warp* warp;
    bool started = false, done = false;
    ucontext_t start;
    jmp_buf place;  // where it waits
};

// The launch, which all blocks share.
struct Launch {
    void (*call)(void**);
    void** arguments;
    bool cooperative, reverse;
    unsigned blocks;
    std::mutex lock;
    std::condition_variable changed;
    std::string failure;
    std::atomic<bool> failed = false;
    std::atomic<unsigned> next_block = 0;
    std::atomic<unsigned long long> grid_number = 0;  // completed barriers of the grid
    unsigned grid_arrived = 0;                        // blocks; under `lock`
};

struct Block : lab_cpu_block {
    Launch* launch;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<void*> shared;                   // the memory of each `__shared__` declaration that was used so far
    std::vector<std::unique_ptr<char[]>> owned;  // and what it lies in
    unsigned alive = 0, arrived = 0, predicates = 0, at_grid = 0;
    unsigned long long barrier_number = 0;
    unsigned waits = 0;  // times in a row that a thread found nothing changed
    unsigned polls = 0;
    jmp_buf home;  // in run_block
};

Thread& self() { return *static_cast<Thread*>(lab_cpu_self); }
Block& block() { return *static_cast<Block*>(lab_cpu_self->block); }

// ---- Switching between the coroutines of a block ----

[[noreturn]] void resume(Thread& thread) {
    lab_cpu_self = &thread;
    if (!thread.started) {
        thread.started = true;
        setcontext(&thread.start);
    }
    _longjmp(thread.place, 1);
}

// Ends the launch from inside of a coroutine.
[[noreturn]] void fail(const std::string& why, const char* file = nullptr, unsigned line = 0) {
    Block& here = block();
    {
        std::lock_guard guard(here.launch->lock);
        if (here.launch->failure.empty()) {
            const uint3 b = here.index, t = lab_cpu_self->thread_index;
            here.launch->failure = (file ? std::string(file) + ":" + std::to_string(line) + ": " : "") + why + " (block " +
                                   std::to_string(b.x) + ", thread " + std::to_string(t.x) + ")";
        }
        here.launch->failed = true;
    }
    here.launch->changed.notify_all();
    _longjmp(here.home, 1);
}

// The next thread of the block that has not returned. Goes back to run_block if there is none.
[[noreturn]] void resume_next(Thread& after) {
    Block& here = block();
    const size_t count = here.threads.size(), at = size_t(&after - here.threads.data());
    for (size_t i = 1; i <= count; ++i) {
        Thread& next = here.threads[here.launch->reverse ? (at + count - i) % count : (at + i) % count];
        if (!next.done) resume(next);
    }
    _longjmp(here.home, 1);
}

void let_others_run() {
    if (block().launch->failed) _longjmp(block().home, 1);
    Thread& me = self();
    if (_setjmp(me.place)) return;
    resume_next(me);
}

// Waits until a condition that another thread of the block fulfils.
template <class Condition>
void wait_until(Condition condition, const char* what, const char* file, unsigned line) {
    while (!condition()) {
        if (++block().waits > 4 * block().threads.size()) {
            fail(std::string("waits at ") + what + " for threads that never come there", file, line);
        }
        let_others_run();
    }
    block().waits = 0;
}

// The body of every coroutine.
void run_thread() {
    block().launch->call(block().launch->arguments);
    Thread& me = self();
    me.done = true;
    me.warp->alive &= ~(1u << me.lane);
    --block().alive;
    block().waits = 0;
    resume_next(me);
}

// ---- What lab_cpu.h calls ----

Meeting& meet(lab_cpu_thread* thread, unsigned mask, unsigned long long value, const char* what, const char* file,
              unsigned line, unsigned& half) {
    Warp& warp = *self().warp;
    const unsigned bit = 1u << thread->lane;
    if (!(mask & bit)) fail("a lane is not in its own mask", file, line);
    Meeting* meeting = nullptr;
    for (auto& known : warp.meetings) {
        if (known->mask == mask) meeting = known.get();
    }
    if (!meeting) {
        warp.meetings.push_back(std::make_unique<Meeting>());
        meeting = warp.meetings.back().get();
        meeting->mask = mask;
    }
    const unsigned long long number = meeting->number;
    half = number % 2;
    meeting->values[half][thread->lane] = value;
    meeting->arrived |= bit;
    // Lanes that have returned are not waited for.
    wait_until(
        [&] {
            if (meeting->number == number && meeting->arrived == (mask & warp.alive)) {
                meeting->took_part[half] = meeting->arrived;
                meeting->arrived = 0;
                ++meeting->number;
            }
            return meeting->number != number;
        },
        what, file, line);
    thread->participants = meeting->took_part[half];
    return *meeting;
}

const unsigned long long* gather(lab_cpu_thread* thread, unsigned mask, unsigned long long value, const char* what,
                                 const char* file, unsigned line) {
    unsigned half;
    return meet(thread, mask, value, what, file, line, half).values[half];
}

// Adds in the order of shuffles by 16, 8, 4, 2, 1, as a GPU does.
float warp_sum(lab_cpu_thread* thread, unsigned mask, float value, const char* file, unsigned line) {
    unsigned bits, half;
    std::memcpy(&bits, &value, 4);
    const Meeting& meeting = meet(thread, mask, bits, "lab_warp_sum()", file, line, half);
    float sums[32] = {};
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (mask >> lane & 1) sums[lane] = NAN;  // of a lane that has returned: undefined on a GPU
        if (meeting.took_part[half] >> lane & 1) std::memcpy(&sums[lane], &meeting.values[half][lane], 4);
    }
    for (unsigned distance = 16; distance > 0; distance /= 2) {
        for (unsigned lane = 0; lane < distance; ++lane) sums[lane] += sums[lane + distance];
    }
    return sums[0];
}

unsigned active(lab_cpu_thread*, const char* file, unsigned line) {
    fail("harness_cpu.cpp cannot tell which lanes are active: use lab's own cpu device", file, line);
}

void block_barrier(lab_cpu_thread*, unsigned predicate, const char* what, const char* file, unsigned line) {
    Block& here = block();
    const unsigned long long number = here.barrier_number;
    ++here.arrived;
    here.predicates += predicate;
    wait_until(
        [&] {
            if (here.barrier_number == number && here.arrived == here.alive) {
                here.count = here.predicates;
                here.any = here.predicates != 0;
                here.all = here.predicates == here.arrived;
                here.arrived = here.predicates = 0;
                ++here.barrier_number;
            }
            return here.barrier_number != number;
        },
        what, file, line);
}

void grid_barrier(lab_cpu_thread*, const char* what, const char* file, unsigned line) {
    Block& here = block();
    Launch& launch = *here.launch;
    if (!launch.cooperative) fail("the grid's barrier needs launch.cooperative = 1", file, line);
    const unsigned long long number = launch.grid_number;
    if (++here.at_grid == here.threads.size()) {
        here.at_grid = 0;
        here.waits = 0;
        std::unique_lock guard(launch.lock);
        if (++launch.grid_arrived == launch.blocks) {
            launch.grid_arrived = 0;
            ++launch.grid_number;
            launch.changed.notify_all();
        }
        launch.changed.wait(guard, [&] { return launch.grid_number != number || launch.failed; });
        guard.unlock();
        if (launch.failed) _longjmp(here.home, 1);
    }
    wait_until([&] { return launch.grid_number != number; }, what, file, line);
}

// Called by loops that wait for memory. Other blocks run on other OS threads: they get the processor now and then.
void yield(lab_cpu_thread*) {
    Block& here = block();
    here.waits = 0;
    if (++here.polls % here.threads.size() == 0) sched_yield();
    let_others_run();
}

// Called when a block first uses a `__shared__` declaration. The memory is NaN, so that a number is found that nobody wrote.
void* shared(lab_cpu_thread*, unsigned, size_t size, size_t align) {
    auto& owned = block().owned.emplace_back(new char[size + align]);
    std::memset(owned.get(), 0xff, size + align);
    return owned.get() + (align - reinterpret_cast<size_t>(owned.get()) % align) % align;
}

[[noreturn]] void failed_in_kernel(lab_cpu_thread*, const char* what, const char* file, unsigned line) {
    fail(what, file, line);
}

constexpr lab_cpu_runtime_table table = {gather,       warp_sum, active, block_barrier,
                                         grid_barrier, yield,    shared, failed_in_kernel};

// ---- A launch ----

void run_block(Launch& launch, const unsigned* shape, unsigned number, char* stacks, char* dynamic) {
    Block here;
    here.launch = &launch;
    here.dim = dim3(shape[3], shape[4], shape[5]);
    here.grid = dim3(shape[0], shape[1], shape[2]);
    here.index = {number % shape[0], number / shape[0] % shape[1], number / shape[0] / shape[1]};
    here.dynamic = dynamic;
    here.shared.resize(lab_cpu_shared_slots);
    here.slots = here.shared.data();
    const unsigned count = shape[3] * shape[4] * shape[5];
    here.alive = count;
    here.warps.resize((count + 31) / 32);
    here.threads = std::vector<Thread>(count);
    for (unsigned i = 0; i < count; ++i) {
        Thread& thread = here.threads[i];
        thread.thread_index = {i % shape[3], i / shape[3] % shape[4], i / shape[3] / shape[4]};
        thread.lane = i % 32;
        thread.block = &here;
        thread.warp = &here.warps[i / 32];
        thread.warp->alive |= 1u << thread.lane;
        getcontext(&thread.start);
        thread.start.uc_stack.ss_sp = stacks + i * (STACK + GUARD) + GUARD;
        thread.start.uc_stack.ss_size = STACK;
        thread.start.uc_link = nullptr;
        makecontext(&thread.start, run_thread, 0);
    }
    if (!_setjmp(here.home)) resume(launch.reverse ? here.threads.back() : here.threads.front());
}

// The body of an OS thread: runs blocks until none is left.
void run_blocks(Launch& launch, const unsigned* shape) {
    const size_t bytes = shape[3] * shape[4] * shape[5] * (STACK + GUARD);
    char* stacks = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) {
        std::lock_guard guard(launch.lock);
        launch.failure = "there is no memory for the stacks of a block";
        launch.failed = true;
        launch.changed.notify_all();
        return;
    }
    for (size_t at = 0; at < bytes; at += STACK + GUARD) mprotect(stacks + at, GUARD, PROT_NONE);
    std::vector<char> dynamic(shape[6] + 256, char(0xff));
    char* const aligned = dynamic.data() + (256 - reinterpret_cast<size_t>(dynamic.data()) % 256) % 256;
    for (unsigned i; !launch.failed && (i = launch.next_block++) < launch.blocks;) {
        run_block(launch, shape, launch.reverse ? launch.blocks - 1 - i : i, stacks, aligned);
    }
    munmap(stacks, bytes);
}

}  // namespace

// Launches a kernel. `shape` is the beginning of LabShape: grid, block, shared_bytes, cooperative. With `reverse`, blocks
// and threads run in reverse order. Returns null, or why the launch failed; the text lives until the next launch.
extern "C" __attribute__((visibility("default"))) const char* harness_launch(const char* entry, void** arguments,
                                                                             const unsigned* shape, int reverse) {
    static std::string failure;
    const lab_cpu_entry* kernel = lab_cpu_entries;
    while (kernel && std::strcmp(kernel->name, entry) != 0) kernel = kernel->next;
    if (!kernel) return "the kernel has no such entry";
    lab_cpu_install(&table);
    Launch launch;
    launch.call = kernel->call;
    launch.arguments = arguments;
    launch.cooperative = shape[7];
    launch.reverse = reverse;
    launch.blocks = shape[0] * shape[1] * shape[2];
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < (launch.cooperative ? launch.blocks : std::min(launch.blocks, cores)); ++i) {
        workers.emplace_back(run_blocks, std::ref(launch), shape);
    }
    for (auto& worker : workers) worker.join();
    failure = launch.failure;
    return launch.failed ? failure.c_str() : nullptr;
}
