"""A symmetric linear system by conjugate gradients."""

import numpy as np


def main(matrix, rhs, tolerance):
    """Return x with ``matrix`` @ x == ``rhs``, how many steps it took, and the norm of what is left."""
    for name, given, shape in (("matrix", matrix, (48, 48)), ("rhs", rhs, (48,)), ("tolerance", tolerance, ())):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    x = np.zeros_like(rhs)
    residual = direction = rhs
    square = rhs @ rhs
    count = np.int32(0)
    while square > tolerance * tolerance and count < 100:
        image = matrix @ direction
        step = square / (direction @ image)
        x = x + step * direction
        residual = residual - step * image
        new_square = residual @ residual
        direction = residual + new_square / square * direction
        square = new_square
        count = count + 1
    return x, count, np.sqrt(square)
