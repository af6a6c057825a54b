// One decode step by plain launches, for steps.py: the launches that kernel.cu states in LAB_LAUNCHES.
#include "kernel.cu"

extern "C" int step(PARAMETERS, int sms, cudaStream_t stream) {
    auto launch = [&](auto* kernel, dim3 grid, unsigned blocks_of_cluster) {
        cudaLaunchAttribute cluster = {};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {blocks_of_cluster, 1, 1};
        cudaLaunchConfig_t config = {};
        config.gridDim = grid, config.blockDim = WARPS * WARP, config.stream = stream;
        config.attrs = &cluster, config.numAttrs = blocks_of_cluster > 1;
        return cudaLaunchKernelEx(&config, kernel, x, gain, w_q, k, v, w_gate_up, lengths, ff, y, eps, scale, batch, hidden, inter, cache, longest,
                                  shortest, scratch);
    };
    unsigned blocks = 1;
    while (blocks < 8 && (int)blocks * HEADS * batch < sms) blocks *= 2;
    const cudaError_t errors[] = {launch(query, dim3(HIDDEN / 16), 1), launch(attention, dim3(blocks, HEADS, batch), blocks),
                                  launch(feed_forward, dim3(INTER / 16), 1)};
    for (cudaError_t error : errors)
        if (error != cudaSuccess) return error;
    return 0;
}
