"""Conway's game of life on a torus, with the population of every generation."""

import numpy as np


def main(board):
    """Return the ``board`` after 30 generations of uint8 cells, and how many cells lived in each."""
    if board.dtype != np.uint8 or board.shape != (32, 32):
        raise TypeError(f"board: expected uint8[32, 32], got {board.dtype}{board.shape}")
    populations = np.empty(30, dtype=np.int32)
    for t in range(30):
        rows = np.roll(board, 1, axis=0) + board + np.roll(board, -1, axis=0)
        neighbours = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1) - board
        board = ((neighbours == 3) | (board == 1) & (neighbours == 2)).astype(np.uint8)
        populations[t] = board.sum()
    return board, populations
