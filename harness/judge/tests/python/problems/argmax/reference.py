"""The first largest number of each row, one number after the other. A NaN is larger than all numbers."""


def argmax(x, at, rows, cols):
    for row in range(rows):
        best = 0
        for col in range(1, cols):
            number, largest = float(x[row, col]), float(x[row, best])
            if largest == largest and (number > largest or number != number):
                best = col
        at[row] = best
