// Cooperative groups: the grid, the block, tiles of a warp, and coalesced lanes.
#pragma once

namespace cooperative_groups {

struct grid_group {
    static bool is_valid() { return true; }
    static void sync(lab_cpu_at at = lab_cpu_at::here()) {
        lab_cpu_runtime->grid_barrier(lab_cpu_self, "this_grid().sync()", at.file, at.line);
    }
    static unsigned long long block_rank() {
        const auto& b = *lab_cpu_self->block;
        return b.index.x + static_cast<unsigned long long>(b.grid.x) * (b.index.y + static_cast<unsigned long long>(b.grid.y) * b.index.z);
    }
    static unsigned long long num_blocks() {
        const auto& b = *lab_cpu_self->block;
        return static_cast<unsigned long long>(b.grid.x) * b.grid.y * b.grid.z;
    }
    static unsigned long long thread_rank() {
        const auto& b = *lab_cpu_self->block;
        const uint3 t = lab_cpu_self->thread_index;
        return block_rank() * (b.dim.x * b.dim.y * b.dim.z) + t.x + b.dim.x * (t.y + b.dim.y * t.z);
    }
    static unsigned long long num_threads() {
        const auto& b = *lab_cpu_self->block;
        return num_blocks() * (b.dim.x * b.dim.y * b.dim.z);
    }
    static unsigned long long size() { return num_threads(); }
    static dim3 group_dim() { return lab_cpu_self->block->grid; }
    static dim3 dim_blocks() { return lab_cpu_self->block->grid; }
    static dim3 block_index() { return lab_cpu_self->block->index; }
};

struct thread_block {
    static void sync(lab_cpu_at at = lab_cpu_at::here()) {
        lab_cpu_runtime->block_barrier(lab_cpu_self, 0, "this_thread_block().sync()", at.file, at.line);
    }
    static unsigned thread_rank() {
        const auto& b = *lab_cpu_self->block;
        const uint3 t = lab_cpu_self->thread_index;
        return t.x + b.dim.x * (t.y + b.dim.y * t.z);
    }
    static unsigned num_threads() {
        const auto& b = *lab_cpu_self->block;
        return b.dim.x * b.dim.y * b.dim.z;
    }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return lab_cpu_self->block->index; }
    static dim3 thread_index() { return lab_cpu_self->thread_index; }
    static dim3 group_dim() { return lab_cpu_self->block->dim; }
    static dim3 dim_threads() { return lab_cpu_self->block->dim; }
};

inline grid_group this_grid() { return {}; }
inline thread_block this_thread_block() { return {}; }

// Lanes of one warp that form a group. A thread's rank follows its lane.
class lab_cpu_lanes {
  protected:
    unsigned mask;
    explicit lab_cpu_lanes(unsigned mask) : mask(mask) {}

    unsigned lane_of(unsigned rank) const {
        unsigned rest = mask;
        while (rank--) rest &= rest - 1;
        return rest ? unsigned(__builtin_ctz(rest)) : lab_cpu_self->lane;
    }

  public:
    unsigned lab_cpu_mask() const { return mask; }
    unsigned thread_rank() const { return unsigned(__builtin_popcount(mask & ((1u << lab_cpu_self->lane) - 1))); }
    unsigned num_threads() const { return unsigned(__builtin_popcount(mask)); }
    unsigned size() const { return num_threads(); }
    void sync(lab_cpu_at at = lab_cpu_at::here()) const { lab_cpu_gather(mask, 0, "sync() of a group of lanes", at); }

    template <class T>
    T shfl(T value, int rank, lab_cpu_at at = lab_cpu_at::here()) const {
        return lab_cpu_shuffle(mask, value, lane_of(unsigned(rank) % num_threads()), "shfl() of a group of lanes", at);
    }
    template <class T>
    T shfl_up(T value, unsigned delta, lab_cpu_at at = lab_cpu_at::here()) const {
        const unsigned rank = thread_rank();
        return lab_cpu_shuffle(mask, value, lane_of(rank < delta ? rank : rank - delta), "shfl_up() of a group of lanes", at);
    }
    template <class T>
    T shfl_down(T value, unsigned delta, lab_cpu_at at = lab_cpu_at::here()) const {
        const unsigned rank = thread_rank();
        return lab_cpu_shuffle(mask, value, lane_of(rank + delta < num_threads() ? rank + delta : rank),
                               "shfl_down() of a group of lanes", at);
    }
    template <class T>
    T shfl_xor(T value, unsigned bits, lab_cpu_at at = lab_cpu_at::here()) const {
        const unsigned rank = thread_rank() ^ bits;
        return lab_cpu_shuffle(mask, value, lane_of(rank < num_threads() ? rank : thread_rank()),
                               "shfl_xor() of a group of lanes", at);
    }
    // Bit i is the predicate of rank i.
    unsigned ballot(int predicate, lab_cpu_at at = lab_cpu_at::here()) const {
        return by_rank(lab_cpu_ballot(mask, predicate != 0, "ballot() of a group of lanes", at));
    }
    int any(int predicate, lab_cpu_at at = lab_cpu_at::here()) const { return __any_sync(mask, predicate, at); }
    int all(int predicate, lab_cpu_at at = lab_cpu_at::here()) const { return __all_sync(mask, predicate, at); }
    template <class T>
    unsigned match_any(T value, lab_cpu_at at = lab_cpu_at::here()) const {
        return by_rank(__match_any_sync(mask, value, at));
    }
    template <class T>
    unsigned match_all(T value, int& same, lab_cpu_at at = lab_cpu_at::here()) const {
        return by_rank(__match_all_sync(mask, value, &same, at));
    }

    // Collects the values of all members by rank, and returns how many there are. A member that has returned has an
    // undefined value; with `skip` it is left out.
    template <class T>
    unsigned lab_cpu_collect(T value, T* values, const char* what, lab_cpu_at at, bool skip = false) const {
        unsigned count = 0;
        for (size_t done = 0; done < sizeof(T); done += 8) {
            const size_t size = sizeof(T) - done < 8 ? sizeof(T) - done : 8;
            unsigned long long bits = 0;
            __builtin_memcpy(&bits, reinterpret_cast<const char*>(&value) + done, size);
            const unsigned long long* all = lab_cpu_gather(mask, bits, what, at);
            const unsigned here = lab_cpu_self->participants;
            count = 0;
            for (unsigned rest = skip ? here : mask; rest; rest &= rest - 1) {
                const unsigned lane = unsigned(__builtin_ctz(rest));
                const unsigned long long* from = here >> lane & 1 ? &all[lane] : &lab_cpu_undefined;
                __builtin_memcpy(reinterpret_cast<char*>(values + count++) + done, from, size);
            }
        }
        return count;
    }

  private:
    unsigned by_rank(unsigned lanes) const {
        unsigned result = 0, rank = 0;
        for (unsigned rest = mask; rest; rest &= rest - 1, ++rank) {
            result |= (lanes >> __builtin_ctz(rest) & 1) << rank;
        }
        return result;
    }
};

class coalesced_group : public lab_cpu_lanes {
  public:
    explicit coalesced_group(unsigned mask) : lab_cpu_lanes(mask) {}
    static unsigned meta_group_size() { return 1; }
    static unsigned meta_group_rank() { return 0; }
};

inline coalesced_group coalesced_threads(lab_cpu_at at = lab_cpu_at::here()) {
    return coalesced_group(__activemask(at));
}

template <unsigned N, class Parent = void>
class thread_block_tile : public lab_cpu_lanes {
    static_assert(N >= 1 && (N & (N - 1)) == 0, "a tile has a power of two of threads");
    static_assert(N <= 32, "tiles of more than one warp are not supported on the cpu device");

  public:
    // A tile without a parent type accepts any parent.
    template <class Other>
    thread_block_tile(const thread_block_tile<N, Other>&) : thread_block_tile() {}
    thread_block_tile()
        : lab_cpu_lanes(N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1) << (lab_cpu_self->lane & ~(N - 1))) {}
    unsigned thread_rank() const { return lab_cpu_self->lane & (N - 1); }
    static constexpr unsigned num_threads() { return N; }
    static constexpr unsigned size() { return N; }
    unsigned meta_group_size() const { return (thread_block::num_threads() + N - 1) / N; }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / N; }
};

template <unsigned N, class Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent&) {
    return {};
}
template <class Parent>
inline coalesced_group tiled_partition(const Parent&, unsigned n) {
    const unsigned mask = n >= 32 ? 0xffffffffu : ((1u << n) - 1) << (lab_cpu_self->lane & ~(n - 1));
    return coalesced_group(mask);
}
template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate, lab_cpu_at at = lab_cpu_at::here()) {
    const unsigned mask = group.lab_cpu_mask(), yes = lab_cpu_ballot(mask, predicate, "binary_partition()", at);
    return coalesced_group(predicate ? yes : mask & ~yes);
}
template <class T, class Group>
inline coalesced_group labeled_partition(const Group& group, T label, lab_cpu_at at = lab_cpu_at::here()) {
    return coalesced_group(__match_any_sync(group.lab_cpu_mask(), label, at));
}

// Holds any of the groups above.
class thread_group {
    enum { grid, block, lanes } kind;
    coalesced_group some{0};

  public:
    thread_group(grid_group) : kind(grid) {}
    thread_group(thread_block) : kind(block) {}
    thread_group(const lab_cpu_lanes& group) : kind(lanes), some(group.lab_cpu_mask()) {}
    void sync(lab_cpu_at at = lab_cpu_at::here()) const {
        if (kind == grid) grid_group::sync(at);
        else if (kind == block) thread_block::sync(at);
        else some.sync(at);
    }
    unsigned long long size() const {
        return kind == grid ? grid_group::size() : kind == block ? thread_block::size() : some.size();
    }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const {
        return kind == grid ? grid_group::thread_rank() : kind == block ? thread_block::thread_rank() : some.thread_rank();
    }
};

template <class Group>
inline void sync(const Group& group, lab_cpu_at at = lab_cpu_at::here()) {
    group.sync(at);
}
template <class Group>
inline unsigned thread_rank(const Group& group) {
    return unsigned(group.thread_rank());
}
template <class Group>
inline unsigned group_size(const Group& group) {
    return unsigned(group.size());
}

template <class T = void>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T = void>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T = void>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

// CUDA reduces 32-bit integers by __reduce_add_sync and the like, which leave out lanes that have returned. For other
// types and operations it shuffles.
template <class T, class Op>
inline constexpr bool lab_cpu_reduces_at_once = false;
template <class T>
inline constexpr bool lab_cpu_is_word = lab_cpu_is_integral<T> && sizeof(T) == 4;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, plus<U>> = lab_cpu_is_word<T>;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, less<U>> = lab_cpu_is_word<T>;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, greater<U>> = lab_cpu_is_word<T>;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, bit_and<U>> = lab_cpu_is_word<T>;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, bit_or<U>> = lab_cpu_is_word<T>;
template <class T, class U>
inline constexpr bool lab_cpu_reduces_at_once<T, bit_xor<U>> = lab_cpu_is_word<T>;

// Adds in the order of a butterfly, so a float sum is bit by bit that of shuffles by size/2, …, 2, 1.
template <class Group, class T, class Op>
inline T reduce(const Group& group, T value, Op op, lab_cpu_at at = lab_cpu_at::here()) {
    T values[32];
    unsigned count =
        group.lab_cpu_collect(value, values, "reduce() of a group of lanes", at, lab_cpu_reduces_at_once<T, Op>);
    while (count > 1) {
        const unsigned half = (count + 1) / 2;
        for (unsigned i = 0; i + half < count; ++i) values[i] = op(values[i], values[i + half]);
        count = half;
    }
    return values[0];
}
template <class Group, class T, class Op>
inline T inclusive_scan(const Group& group, T value, Op op, lab_cpu_at at = lab_cpu_at::here()) {
    T values[32];
    group.lab_cpu_collect(value, values, "inclusive_scan() of a group of lanes", at);
    T result = values[0];
    for (unsigned i = 1; i <= group.thread_rank(); ++i) result = op(result, values[i]);
    return result;
}
template <class Group, class T>
inline T inclusive_scan(const Group& group, T value, lab_cpu_at at = lab_cpu_at::here()) {
    return inclusive_scan(group, value, plus<T>(), at);
}
template <class Group, class T, class Op>
inline T exclusive_scan(const Group& group, T value, Op op, lab_cpu_at at = lab_cpu_at::here()) {
    T values[32];
    group.lab_cpu_collect(value, values, "exclusive_scan() of a group of lanes", at);
    T result{};
    for (unsigned i = 0; i < group.thread_rank(); ++i) result = i ? op(result, values[i]) : values[i];
    return result;
}
template <class Group, class T>
inline T exclusive_scan(const Group& group, T value, lab_cpu_at at = lab_cpu_at::here()) {
    return exclusive_scan(group, value, plus<T>(), at);
}

}  // namespace cooperative_groups
