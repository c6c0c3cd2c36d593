"""Least squares twice: by QR, and by a truncated singular value decomposition."""

import numpy as np


def main(matrix, rhs):
    """Return the solutions by QR and by SVD, and the singular values of ``matrix``."""
    for name, given, shape in (("matrix", matrix, (30, 6)), ("rhs", rhs, (30,))):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    q, r = np.linalg.qr(matrix)
    by_qr = np.linalg.solve(r, q.T @ rhs)
    u, singular, vt = np.linalg.svd(matrix, full_matrices=False)
    keep = singular > 0.001 * singular[0]
    inverse = np.where(keep, 1 / singular, 0)
    by_svd = vt.T @ (inverse * (u.T @ rhs))
    return by_qr, by_svd, singular
