// cub::BlockExchange, cub::BlockLoad and cub::BlockStore. The item `i` of a thread is in a blocked arrangement cell
// `rank * items + i`, in a striped one cell `i * threads + rank`, and in a warp-striped one the same within each warp's
// cells.
#pragma once

#include "shared.h"

namespace cub {

template <int threads, int items>
struct lab_cpu_place {
    static int blocked(int rank, int i) { return rank * items + i; }
    static int striped(int rank, int i) { return i * threads + rank; }
    static int warp_striped(int rank, int i) {
        const int warp = rank / 32, lanes = threads - 32 * warp < 32 ? threads - 32 * warp : 32;
        return warp * 32 * items + i * lanes + rank % 32;
    }
};

template <class T, int x, int items, bool = false, int y = 1, int z = 1>
class BlockExchange {
    static constexpr int threads = x * y * z;
    using Place = lab_cpu_place<threads, items>;

    // Each item goes to the cell of one place and comes from the cell of another.
    template <class To, class From, class Out>
    void exchange(const T (&in)[items], Out (&out)[items], To to, From from, lab_cpu_at at) {
        const int rank = RowMajorTid(x, y, z);
        for (int i = 0; i < items; i++) {
            const int cell = to(rank, i);
            if (cell >= 0) cells[cell] = in[i];
        }
        __syncthreads(at);
        for (int i = 0; i < items; i++) out[i] = cells[from(rank, i)];
    }

  public:
    struct TempStorage : lab_cpu_cells<T, threads * items> {};
    BlockExchange() : cells(lab_cpu_shared<TempStorage>()) {}
    explicit BlockExchange(TempStorage& cells) : cells(cells) {}

#define LAB_CPU_EXCHANGE(name, to, from)                                                                               \
    template <class Out>                                                                                               \
    void name(const T (&in)[items], Out (&out)[items], lab_cpu_at at = lab_cpu_at::here()) {                           \
        exchange(in, out, Place::to, Place::from, at);                                                                 \
    }                                                                                                                  \
    void name(T (&values)[items], lab_cpu_at at = lab_cpu_at::here()) { name(values, values, at); }
    LAB_CPU_EXCHANGE(StripedToBlocked, striped, blocked)
    LAB_CPU_EXCHANGE(BlockedToStriped, blocked, striped)
    LAB_CPU_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
    LAB_CPU_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
#undef LAB_CPU_EXCHANGE

// An item goes to the cell that its rank says; one with a negative rank goes nowhere, if the form is guarded.
#define LAB_CPU_SCATTER(name, from)                                                                                    \
    template <class Out, class Rank>                                                                                   \
    void name(const T (&in)[items], Out (&out)[items], Rank (&ranks)[items], lab_cpu_at at = lab_cpu_at::here()) {     \
        exchange(in, out, [&](int, int i) { return int(ranks[i]); }, Place::from, at);                                 \
    }                                                                                                                  \
    template <class Rank>                                                                                              \
    void name(T (&values)[items], Rank (&ranks)[items], lab_cpu_at at = lab_cpu_at::here()) {                          \
        name(values, values, ranks, at);                                                                               \
    }
    LAB_CPU_SCATTER(ScatterToBlocked, blocked)
    LAB_CPU_SCATTER(ScatterToStriped, striped)
    LAB_CPU_SCATTER(ScatterToStripedGuarded, striped)
#undef LAB_CPU_SCATTER

  private:
    TempStorage& cells;
};

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int x, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int y = 1, int z = 1>
class BlockLoad {
    using Place = lab_cpu_place<x * y * z, items>;
    static int place(int i) {
        const int rank = RowMajorTid(x, y, z);
        return algorithm == BLOCK_LOAD_STRIPED ? Place::striped(rank, i) : Place::blocked(rank, i);
    }

  public:
    struct TempStorage {};
    BlockLoad() {}
    explicit BlockLoad(TempStorage&) {}

    template <class Cells>
    void Load(Cells from, T (&values)[items]) {
        for (int i = 0; i < items; i++) values[i] = from[place(i)];
    }
    template <class Cells>
    void Load(Cells from, T (&values)[items], int valid) {
        for (int i = 0; i < items; i++)
            if (place(i) < valid) values[i] = from[place(i)];
    }
    template <class Cells, class Default>
    void Load(Cells from, T (&values)[items], int valid, Default otherwise) {
        for (int i = 0; i < items; i++) values[i] = place(i) < valid ? T(from[place(i)]) : T(otherwise);
    }
};

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int x, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int y = 1, int z = 1>
class BlockStore {
    using Place = lab_cpu_place<x * y * z, items>;
    static int place(int i) {
        const int rank = RowMajorTid(x, y, z);
        return algorithm == BLOCK_STORE_STRIPED ? Place::striped(rank, i) : Place::blocked(rank, i);
    }

  public:
    struct TempStorage {};
    BlockStore() {}
    explicit BlockStore(TempStorage&) {}

    template <class Cells>
    void Store(Cells to, T (&values)[items]) {
        for (int i = 0; i < items; i++) to[place(i)] = values[i];
    }
    template <class Cells>
    void Store(Cells to, T (&values)[items], int valid) {
        for (int i = 0; i < items; i++)
            if (place(i) < valid) to[place(i)] = values[i];
    }
};

}  // namespace cub
