"""The types narrower than NumPy's by name alone, where Pyodide has no ml_dtypes: programs with them are refused."""

import numpy as np

IS_STAND_IN = True
finfo, iinfo = np.finfo, np.iinfo
_CARRIERS = {"bfloat16": "f4", "float4": "f4", "float8": "f4", "int2": "i1", "int4": "i1", "uint2": "u1", "uint4": "u1"}


def __getattr__(name):
    carrier = _CARRIERS.get(name.partition("_")[0])
    if carrier is None:
        raise AttributeError(name)
    return np.dtype(carrier, metadata={"name": name})
