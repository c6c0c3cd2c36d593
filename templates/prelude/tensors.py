"""Constants in a .safetensors file beside an emitted module."""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np


@cache
def mapped_tensor(name: str, digest: str, dtype: Any) -> np.ndarray:
    """A constant of this module from the .safetensors file of its name, which is read
    where it is used; `digest` begins the SHA-256 of its bytes.
    """
    path = Path(__file__).with_suffix(".safetensors")
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = file.read(size)
    entry = json.loads(header).get(name) if len(header) == size else None
    if entry is None:
        raise ValueError(f"{path} has no array {name}")
    begin, end = entry["data_offsets"]
    octets = np.memmap(path, np.uint8, "r", 8 + size)[begin:end]
    if not sha256(octets.data).hexdigest().startswith(digest):
        raise ValueError(f"{path}: {name} has changed since the module was made")
    array: np.ndarray = octets.view(dtype).reshape(entry["shape"])
    return array
