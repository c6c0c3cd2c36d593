"""Conway's game of life on a torus, with the population of every generation."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def generation(board):
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    neighbours = sum(jnp.roll(board, shift, axis=(0, 1)) for shift in shifts)
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(board.dtype)


def play(board):
    """board: uint8 zeros and ones. Returns the board after 30 generations and 30 population counts."""

    def step(board, _):
        board = generation(board)
        return board, jnp.sum(board, dtype=jnp.int32)

    return lax.scan(step, board, length=30)


def program():
    rng = np.random.default_rng(0)
    return play, ((rng.uniform(size=(32, 32)) < 0.3).astype(np.uint8),)
