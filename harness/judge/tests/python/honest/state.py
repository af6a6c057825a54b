# The state in place.
# problem: state
# judged: pass


def step(x, state, y):
    state *= 0.5
    state += x
    y[:] = state
