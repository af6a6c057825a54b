
// ---- Lines: writing them, changing them, finding their largest and smallest numbers ---------------

// worker/cells/lines.rs launches these kernels. problem/tensor/plant/line.rs computes the same on the processor.

// Writes a line, whose cells lie side by side at `from`.
extern "C" __global__ void __launch_bounds__(256) lab_put_line(Line line, const void* from) {
    u32 size = size_of((int)line.type);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < line.cells; i += gridDim.x * 256ull) {
        store(line.cell, i * line.stride, size, load(from, i, size));
    }
}

enum Sign { OWN, POSITIVE, NEGATIVE, RANDOM };

struct Map {
    double factor, low, high;
    u64 seed, sign;
};

extern "C" __global__ void __launch_bounds__(256) lab_map(Line line, Map map) {
    int type = (int)line.type;
    u32 size = size_of(type);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < line.cells; i += gridDim.x * 256ull) {
        u64 bits = load(line.cell, i * line.stride, size);
        double number = mul(number_of(type, bits), map.factor);
        switch (map.sign) {
            case OWN: break;
            case POSITIVE: number = fabs(number); break;
            case NEGATIVE: number = -fabs(number); break;
            default: {
                Words w = philox(i / 2, map.seed);
                if ((i % 2 ? w.word[3] : w.word[1]) >> 31) number = -number;
            }
        }
        if (number < map.low) number = map.low;
        if (number > map.high) number = map.high;
        store(line.cell, i * line.stride, size, encoded(type, number));
    }
}

struct Replace { u64 edge, by, is_low; };

extern "C" __global__ void __launch_bounds__(256) lab_replace(Line line, Replace replace) {
    int type = (int)line.type;
    u32 size = size_of(type);
    u64 edge = rank_of(type, replace.edge);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < line.cells; i += gridDim.x * 256ull) {
        u64 rank = rank_of(type, load(line.cell, i * line.stride, size));
        if (replace.is_low ? rank <= edge : rank >= edge) store(line.cell, i * line.stride, size, replace.by);
    }
}

struct Extremes { u64 largest, smallest, largest_at, smallest_at; };  // ranks and indices

extern "C" __global__ void __launch_bounds__(256) lab_extremes(Line line, Extremes* found) {
    int type = (int)line.type;
    u32 size = size_of(type);
    u64 largest = 0, smallest = NONE;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < line.cells; i += gridDim.x * 256ull) {
        u64 rank = rank_of(type, load(line.cell, i * line.stride, size));
        if (rank > largest) largest = rank;
        if (rank < smallest) smallest = rank;
    }
    for (int o = 16; o > 0; o /= 2) {
        u64 larger = __shfl_down_sync(0xffffffffu, largest, o), smaller = __shfl_down_sync(0xffffffffu, smallest, o);
        if (larger > largest) largest = larger;
        if (smaller < smallest) smallest = smaller;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(&found->largest, largest);
        atomicMin(&found->smallest, smallest);
    }
}

// Finds the first cells with these ranks, after lab_extremes.
extern "C" __global__ void __launch_bounds__(256) lab_extreme_cells(Line line, Extremes* found) {
    int type = (int)line.type;
    u32 size = size_of(type);
    u64 largest = found->largest, smallest = found->smallest, largest_at = NONE, smallest_at = NONE;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < line.cells; i += gridDim.x * 256ull) {
        u64 rank = rank_of(type, load(line.cell, i * line.stride, size));
        if (rank == largest && largest_at == NONE) largest_at = i;
        if (rank == smallest && smallest_at == NONE) smallest_at = i;
    }
    if (largest_at != NONE) atomicMin(&found->largest_at, largest_at);
    if (smallest_at != NONE) atomicMin(&found->smallest_at, smallest_at);
}
