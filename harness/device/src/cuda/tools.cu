// The lab's own kernels, which the worker runs beside the judged one. The judge builds this file once and caches it.

// A range of device memory: its first address and its bytes.
struct LabRange {
    const unsigned char* begin;
    unsigned long long bytes;
};

// The output function of SplitMix64; api/digest.rs computes the same on the host.
__device__ unsigned long long lab_mix(unsigned long long value) {
    unsigned long long z = value + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Adds to sums[blockIdx.y] the parts of all words of ranges[blockIdx.y]. Launched with sums of zero.
extern "C" __global__ void lab_digest(const LabRange* ranges, unsigned long long* sums, unsigned long long key) {
    const LabRange range = ranges[blockIdx.y];
    const unsigned long long words = (range.bytes + 3) / 4, whole = range.bytes / 4;
    const bool aligned = ((unsigned long long)range.begin & 3) == 0;
    const unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = first == 0 ? lab_mix(range.bytes ^ key) : 0;
    for (unsigned long long i = first; i < words; i += (unsigned long long)gridDim.x * blockDim.x) {
        unsigned word = 0;
        if (aligned && i < whole) {
            word = ((const unsigned*)range.begin)[i];
        } else {
            for (unsigned byte = 0; byte < 4 && 4 * i + byte < range.bytes; byte++) {
                word |= (unsigned)range.begin[4 * i + byte] << (8 * byte);
            }
        }
        sum += lab_mix((i << 32 | word) ^ key);
    }
    for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(0xffffffffu, sum, other);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(&sums[blockIdx.y], sum);
}
