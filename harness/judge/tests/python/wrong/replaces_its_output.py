# Gives another array the name of the output.
# judged: fail by y_unwritten
def axpy(x, y, a):
    y = x * a + 1
