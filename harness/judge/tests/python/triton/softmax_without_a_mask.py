# The same without a mask for the cells behind the end of a row.
# judged: fail
# problem: softmax
import triton
import triton.language as tl


@triton.jit
def rows_of(x, y, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.program_id(0) * cols
    v = tl.load(x + start + at % cols)
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + start + at, v / tl.sum(v, axis=0), mask=at < cols)


def softmax(x, y, rows, cols):
    rows_of[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
