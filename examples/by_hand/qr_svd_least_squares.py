"""Least squares twice: by QR, and by a truncated singular value decomposition."""

import numpy as np


def main(matrix, rhs):
    q, r = np.linalg.qr(matrix)
    by_qr = np.linalg.solve(r, q.T @ rhs)
    u, singular, vt = np.linalg.svd(matrix, full_matrices=False)
    keep = singular > 0.001 * singular[0]
    inverse = np.where(keep, 1 / singular, 0)
    by_svd = vt.T @ (inverse * (u.T @ rhs))
    return by_qr, by_svd, singular
