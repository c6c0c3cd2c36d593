"""Large constants, kept beside an emitted module."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy as cp

from ...prelude.tensors import mapped_tensor


@cache
def device_constant(load: Callable[..., Any], *place: Any) -> cp.ndarray:
    """Return a constant of this module, loaded and copied to the device once."""
    return cp.asarray(load(*place))


class StoredTree(dict[Any, Any]):
    """A tree of arrays of this module's .safetensors file, each read and copied to the
    device when it is first used; `arrays` has the digest, dtype and shape of each.
    """

    def __init__(self, name: str, arrays: dict[str, tuple[Any, ...]]) -> None:
        self.name, self.arrays = name, arrays

    def __missing__(self, key: Any) -> Any:
        name = f"{self.name}.{key}"
        own = self.arrays.get(name)
        self[key] = (
            cp.asarray(mapped_tensor(name, *own))
            if own
            else StoredTree(name, self.arrays)
        )
        return self[key]
