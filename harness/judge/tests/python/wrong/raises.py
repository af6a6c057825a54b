# Raises in the second workload.
# judged: crash: error: KeyError: 4099
# says: workload: n=4099 correctness=crash
TILES = {1000: 100}


def axpy(x, y, a, n):
    assert TILES[n]
    y[:] = x * a + 1
