"""Conway's game of life on a torus, with the population of every generation."""

import numpy as np


def main(board):
    populations = np.empty(30, dtype=np.int32)
    for t in range(30):
        rows = np.roll(board, 1, axis=0) + board + np.roll(board, -1, axis=0)
        neighbours = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1) - board
        board = ((neighbours == 3) | (board == 1) & (neighbours == 2)).astype(np.uint8)
        populations[t] = board.sum()
    return board, populations
