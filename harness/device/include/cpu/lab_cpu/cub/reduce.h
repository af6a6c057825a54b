// cub::WarpReduce and cub::BlockReduce. Values are added in the order of CUB's warp reductions, so that a sum of floats
// has the same bits as with BLOCK_REDUCE_WARP_REDUCTIONS on a GPU.
#pragma once

#include "shared.h"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};

// The first lane of each logical warp has the result. The others have what is left of their own values.
template <class T, int width = 32>
class WarpReduce {
  public:
    struct TempStorage {};
    explicit WarpReduce(TempStorage&) {}

    template <class Op>
    T Reduce(T value, Op op, int valid = width, lab_cpu_at at = lab_cpu_at::here()) {
        const unsigned lane = lab_cpu_self->lane, first = lane / width * width;
        const unsigned mask = width == 32 ? 0xffffffffu : ((1u << (width % 32)) - 1) << first;
        for (unsigned step = 1; step < unsigned(width); step *= 2) {
            const unsigned from = lane + step;
            const T other =
                lab_cpu_shuffle(mask, value, from < first + width ? from : lane, "cub::WarpReduce", at);
            if (from < first + unsigned(valid)) value = op(value, other);
        }
        return value;
    }
    T Sum(T value, int valid = width, lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(value, ::cuda::std::plus<>{}, valid, at);
    }
    T Max(T value, int valid = width, lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(value, ::cuda::maximum<>{}, valid, at);
    }
    T Min(T value, int valid = width, lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(value, ::cuda::minimum<>{}, valid, at);
    }
};

// Thread 0 has the result. The others have their own values.
template <class T, int x, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int y = 1, int z = 1>
class BlockReduce {
    static constexpr int threads = x * y * z;

  public:
    struct TempStorage : lab_cpu_cells<T, threads> {};
    BlockReduce() : cells(lab_cpu_shared<TempStorage>()) {}
    explicit BlockReduce(TempStorage& cells) : cells(cells) {}

    template <class Op>
    T Reduce(T value, Op op, int valid = threads, lab_cpu_at at = lab_cpu_at::here()) {
        const int rank = RowMajorTid(x, y, z);
        cells[rank] = value;
        __syncthreads(at);
        if (rank > 0) return value;
        valid = valid < threads ? valid : threads;
        for (int first = 0; first < valid; first += 32) {
            const int end = first + 32 < valid ? first + 32 : valid;
            T lanes[32];
            for (int i = first; i < end; i++) lanes[i - first] = cells[i];
            for (int step = 1; step < 32; step *= 2)
                for (int i = 0; first + i + step < end; i++) lanes[i] = op(lanes[i], lanes[i + step]);
            value = first == 0 ? lanes[0] : op(value, lanes[0]);
        }
        return value;
    }
    template <int items, class Op>
    T Reduce(T (&values)[items], Op op, lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(ThreadReduce(values, op), op, threads, at);
    }
    T Sum(T value, int valid = threads, lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(value, ::cuda::std::plus<>{}, valid, at);
    }
    template <int items>
    T Sum(T (&values)[items], lab_cpu_at at = lab_cpu_at::here()) {
        return Reduce(values, ::cuda::std::plus<>{}, at);
    }

  private:
    TempStorage& cells;
};

}  // namespace cub
