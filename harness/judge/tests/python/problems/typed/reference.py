"""A copy, cell by cell."""


def _copy(x, y, n, m):
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j]


copy_f32 = copy_f16 = copy_bf16 = copy_f8e4m3 = copy_f8e5m2 = copy_i8 = copy_u8 = copy_i32 = copy_i64 = copy_bool = _copy
