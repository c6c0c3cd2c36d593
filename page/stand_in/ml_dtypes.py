"""Types narrower than NumPy's, by name alone, where Pyodide has no ml_dtypes: programs without them need no more."""

import numpy as np

finfo, iinfo = np.finfo, np.iinfo


def __getattr__(name):
    bits = {"bfloat16": 16, "int2": 8, "uint2": 8, "int4": 8, "uint4": 8}.get(
        name, 8 * name.startswith(("float4", "float8"))
    )
    if not bits:
        raise AttributeError(name)
    scalar = type(name, (np.void,), {"__module__": __name__})
    globals()[name] = np.dtype((scalar, f"V{bits // 8}"))
    return globals()[name]
