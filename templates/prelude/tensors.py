"""Constants in a .safetensors file beside an emitted module."""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np


class StoredTree(dict[Any, Any]):
    """A tree of arrays of this module's .safetensors file, each read when it is first
    used; `arrays` has the digest, dtype and shape of each.
    """

    def __init__(self, name: str, arrays: dict[str, tuple[Any, ...]]) -> None:
        self.name, self.arrays = name, arrays

    def __missing__(self, key: Any) -> Any:
        name = f"{self.name}.{key}"
        own = self.arrays.get(name)
        self[key] = mapped_tensor(name, *own) if own else StoredTree(name, self.arrays)
        return self[key]


@cache
def mapped_tensor(
    name: str, digest: str, dtype: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """Return a constant from this module's .safetensors file, which is read when it is
    used; `digest` is the beginning of the SHA-256 of its bytes.
    """
    path = Path(__file__).with_suffix(".safetensors")
    try:
        mapped = np.asarray(np.memmap(path, np.uint8, "r"))
        start = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
        entry = json.loads(mapped[8:start].tobytes())[name]
        (begin, end), found = entry["data_offsets"], tuple(entry["shape"])
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"{path} has no array {name}: {error!r}") from error
    octets = mapped[start + begin : start + end]
    if len(octets) < end - begin:
        raise ValueError(f"{path}: {name} is cut off")
    if found != shape:
        raise ValueError(f"{path}: {name} has the shape {[*found]}, not {[*shape]}")
    if not sha256(octets.data).hexdigest().startswith(digest):
        raise ValueError(f"{path}: {name} has changed since the module was made")
    array: np.ndarray = octets.view(dtype).reshape(shape)
    return array
