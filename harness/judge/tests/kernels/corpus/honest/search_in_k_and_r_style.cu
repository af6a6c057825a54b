// Names, braces and declarations as people wrote them decades ago, with a chain of ?: and commas.
// problem: argmax
// judged: pass
#include "lab.h"

/* which of two columns is the better one? */
__device__ static int
better(const float *row, int i, int j)
{
	float a, b;

	a = row[i], b = row[j];
	return a != a ? (b != b ? (i < j ? i : j) : i)
	     : b != b ? j
	     : a > b ? i
	     : a < b ? j
	     : i < j ? i : j;
}

extern "C" __global__ void
argmax(const float *x, int *at, int rows, int cols)
{
	register_free:
	int best, i, lane;
	const float *row;

	row = &x[blockIdx.x * cols], lane = (int)threadIdx.x;
	for (best = 0, i = lane; i < cols; i += 32)
		best = better(row, best, i);
	for (i = 16; i; i >>= 1)
		best = better(row, best, __shfl_xor_sync(0xffffffff, best, i));
	if (!lane)
		at[blockIdx.x] = best;
	if (0)
		goto register_free;
}

LAB_LAUNCH(argmax)
{
	launch.grid[0] = dims.rows, launch.block[0] = 32;
}
