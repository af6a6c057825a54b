// cub::WarpScan and cub::BlockScan.
#pragma once

#include "shared.h"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

// The forms of a scan, for one value of each thread or for several. The class `Scan` combines the values of the threads
// before this one:
//   bool earlier(T value, Op op, T& before, T& total, lab_cpu_at at)
// returns false in the first thread, which has none before it. Without a first value, the exclusive result of that
// thread is undefined.
template <class T, class Scan>
class lab_cpu_scans {
    using Plus = ::cuda::std::plus<>;

    template <int items, class Op, class First>
    void scan(T (&in)[items], T (&out)[items], Op op, First first_of, bool inclusive, T& total, lab_cpu_at at) {
        T before, first;
        bool has_before = static_cast<Scan&>(*this).earlier(ThreadReduce(in, op), op, before, total, at);
        if (first_of(first, total)) {
            before = has_before ? op(first, before) : first;
            has_before = true;
        }
        T sum = has_before ? before : in[0];
        for (int i = 0; i < items; i++) {
            const T value = in[i], last = sum;
            if (has_before || i > 0) sum = op(sum, value);
            out[i] = inclusive ? sum : last;
        }
    }
    template <class Op, class First>
    void scan(T in, T& out, Op op, First first_of, bool inclusive, T& total, lab_cpu_at at) {
        T one[1] = {in};
        scan(one, one, op, first_of, inclusive, total, at);
        out = one[0];
    }
    static auto nothing() {
        return [](T&, T) { return false; };
    }
    static auto number(T value) {
        return [value](T& first, T) {
            first = value;
            return true;
        };
    }
    template <class Prefix>
    auto prefix(Prefix& of, lab_cpu_at at) {
        return [this, &of, at](T& first, T total) {
            first = static_cast<Scan&>(*this).call(of, total, at);
            return true;
        };
    }

// In and out: one value, or an array of them.
#define LAB_CPU_SCANS(more, In, Out)                                                                                   \
    template <more class Op>                                                                                           \
    void InclusiveScan(In, Out, Op op, lab_cpu_at at = lab_cpu_at::here()) {                                           \
        T total;                                                                                                       \
        scan(in, out, op, nothing(), true, total, at);                                                                 \
    }                                                                                                                  \
    template <more class Op>                                                                                           \
    void InclusiveScan(In, Out, Op op, T& total, lab_cpu_at at = lab_cpu_at::here()) {                                 \
        scan(in, out, op, nothing(), true, total, at);                                                                 \
    }                                                                                                                  \
    template <more class Op, class Prefix>                                                                             \
    void InclusiveScan(In, Out, Op op, Prefix& of, lab_cpu_at at = lab_cpu_at::here()) {                               \
        T total;                                                                                                       \
        scan(in, out, op, prefix(of, at), true, total, at);                                                            \
    }                                                                                                                  \
    template <more class Op>                                                                                           \
    void ExclusiveScan(In, Out, Op op, lab_cpu_at at = lab_cpu_at::here()) {                                           \
        T total;                                                                                                       \
        scan(in, out, op, nothing(), false, total, at);                                                                \
    }                                                                                                                  \
    template <more class Op>                                                                                           \
    void ExclusiveScan(In, Out, Op op, T& total, lab_cpu_at at = lab_cpu_at::here()) {                                 \
        scan(in, out, op, nothing(), false, total, at);                                                                \
    }                                                                                                                  \
    template <more class Op>                                                                                           \
    void ExclusiveScan(In, Out, T first, Op op, lab_cpu_at at = lab_cpu_at::here()) {                                  \
        T total;                                                                                                       \
        scan(in, out, op, number(first), false, total, at);                                                            \
    }                                                                                                                  \
    template <more class Op>                                                                                           \
    void ExclusiveScan(In, Out, T first, Op op, T& total, lab_cpu_at at = lab_cpu_at::here()) {                        \
        scan(in, out, op, number(first), false, total, at);                                                            \
    }                                                                                                                  \
    template <more class Op, class Prefix>                                                                             \
    void ExclusiveScan(In, Out, Op op, Prefix& of, lab_cpu_at at = lab_cpu_at::here()) {                               \
        T total;                                                                                                       \
        scan(in, out, op, prefix(of, at), false, total, at);                                                           \
    }

#define LAB_CPU_SUMS(head, more, In, Out)                                                                              \
    head void InclusiveSum(In, Out, lab_cpu_at at = lab_cpu_at::here()) { InclusiveScan(in, out, Plus{}, at); }        \
    head void InclusiveSum(In, Out, T& total, lab_cpu_at at = lab_cpu_at::here()) {                                    \
        InclusiveScan(in, out, Plus{}, total, at);                                                                     \
    }                                                                                                                  \
    template <more class Prefix>                                                                                       \
    void InclusiveSum(In, Out, Prefix& of, lab_cpu_at at = lab_cpu_at::here()) {                                       \
        InclusiveScan(in, out, Plus{}, of, at);                                                                        \
    }                                                                                                                  \
    head void ExclusiveSum(In, Out, lab_cpu_at at = lab_cpu_at::here()) {                                              \
        ExclusiveScan(in, out, T{}, Plus{}, at);                                                                       \
    }                                                                                                                  \
    head void ExclusiveSum(In, Out, T& total, lab_cpu_at at = lab_cpu_at::here()) {                                    \
        ExclusiveScan(in, out, T{}, Plus{}, total, at);                                                                \
    }                                                                                                                  \
    template <more class Prefix>                                                                                       \
    void ExclusiveSum(In, Out, Prefix& of, lab_cpu_at at = lab_cpu_at::here()) {                                       \
        ExclusiveScan(in, out, Plus{}, of, at);                                                                        \
    }

#define LAB_CPU_COMMA ,
  public:
    LAB_CPU_SCANS(, T in, T& out)
    LAB_CPU_SCANS(int items LAB_CPU_COMMA, T (&in)[items], T (&out)[items])
    LAB_CPU_SUMS(, , T in, T& out)
    LAB_CPU_SUMS(template <int items>, int items LAB_CPU_COMMA, T (&in)[items], T (&out)[items])
#undef LAB_CPU_COMMA
#undef LAB_CPU_SUMS
#undef LAB_CPU_SCANS
};

template <class T, int width = 32>
class WarpScan : public lab_cpu_scans<T, WarpScan<T, width>> {
  public:
    struct TempStorage {};
    explicit WarpScan(TempStorage&) {}

    template <class Op>
    bool earlier(T value, Op op, T& before, T& total, lab_cpu_at at) {
        const unsigned lane = lab_cpu_self->lane, rank = lane % width;
        for (unsigned step = 1; step < unsigned(width); step *= 2) {
            const T other = shuffle(value, rank < step ? rank : rank - step, at);
            if (rank >= step) value = op(other, value);
        }
        total = shuffle(value, width - 1, at);
        before = shuffle(value, rank ? rank - 1 : 0, at);
        return rank > 0;
    }
    T Broadcast(T value, unsigned rank, lab_cpu_at at = lab_cpu_at::here()) { return shuffle(value, rank, at); }

  private:
    static T shuffle(T value, unsigned rank, lab_cpu_at at) {
        const unsigned first = lab_cpu_self->lane / width * width;
        const unsigned mask = width == 32 ? 0xffffffffu : ((1u << (width % 32)) - 1) << first;
        return lab_cpu_shuffle(mask, value, first + rank, "cub::WarpScan", at);
    }
};

template <class T, int x, BlockScanAlgorithm algorithm = BLOCK_SCAN_RAKING, int y = 1, int z = 1>
class BlockScan : public lab_cpu_scans<T, BlockScan<T, x, algorithm, y, z>> {
    static constexpr int threads = x * y * z;

  public:
    // One cell for each thread, the total, and what stands before the block.
    struct TempStorage : lab_cpu_cells<T, threads + 2> {};
    BlockScan() : cells(lab_cpu_shared<TempStorage>()) {}
    explicit BlockScan(TempStorage& cells) : cells(cells) {}

    template <class Op>
    bool earlier(T value, Op op, T& before, T& total, lab_cpu_at at) {
        const int rank = RowMajorTid(x, y, z);
        cells[rank] = value;
        __syncthreads(at);
        if (rank == 0) {
            for (int i = 1; i < threads; i++) cells[i] = op(cells[i - 1], cells[i]);
            cells[threads] = cells[threads - 1];
        }
        __syncthreads(at);
        total = cells[threads];
        before = cells[rank ? rank - 1 : 0];
        return rank > 0;
    }
    // Calls a function of the user's in the first warp, and returns what thread 0 got.
    template <class Prefix>
    T call(Prefix& of, T total, lab_cpu_at at) {
        const int rank = RowMajorTid(x, y, z);
        if (rank < 32) {
            const T first = of(total);
            if (rank == 0) cells[threads + 1] = first;
        }
        __syncthreads(at);
        return cells[threads + 1];
    }

  private:
    TempStorage& cells;
};

}  // namespace cub
