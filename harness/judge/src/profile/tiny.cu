// One warp that does nothing. A profiler that reads a counter of its launch can read counters.
#include "lab.h"

extern "C" __global__ void tiny() {}
LAB_LAUNCH(tiny) {
    launch.grid[0] = 1;
    launch.block[0] = 32;
}
