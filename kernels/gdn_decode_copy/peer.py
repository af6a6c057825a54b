"""A copy of the state."""


def copy(state, new_state):
    new_state.copy_(state)
