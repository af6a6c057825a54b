# Prints for ever.
# judged: crash: too much output


def axpy(x, y, a):
    line = "x" * 4000
    while True:
        print(line)
