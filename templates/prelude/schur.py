"""The Schur form of one matrix, in NumPy on every library: it is found step by step."""

import numpy as np


def schur(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T and unitary Z with ``a`` [n, n] == Z @ T @ Z^H, T triangular; a real T
    has 2x2 blocks for complex pairs.

    Each step turns one eigenvector (or pair) of the remaining block into its first
    axes.
    """
    t, z, k = a.copy(), np.eye(len(a), dtype=a.dtype), 0
    while k < len(a) - 1:
        values, vectors = np.linalg.eig(t[k:, k:])
        axes = vectors[:, :1].astype(np.result_type(a.dtype, vectors.dtype))
        if a.dtype.kind != "c":
            parts = [axes.real, axes.imag] if values[0].imag else [axes.real]
            axes = np.concatenate(parts, 1)
        q = np.linalg.qr(axes, mode="complete").Q.astype(a.dtype)
        if axes.shape[1] == 2:  # turn the block so that its diagonal becomes equal
            (p, r), (s, u) = q[:, :2].T @ t[k:, k:] @ q[:, :2]
            angle = 0.5 * np.arctan2(u - p, r + s)
            cos, sin = np.cos(angle), np.sin(angle)
            q[:, :2] = q[:, :2] @ [[cos, -sin], [sin, cos]]
        t[:, k:] = t[:, k:] @ q
        t[k:, :] = q.conj().T @ t[k:, :]
        z[:, k:] = z[:, k:] @ q
        k, column = k + axes.shape[1], k
        t[k:, column:k] = 0
    return t, z
