"""What messages between replicas say of the arrays that they bring."""

import json
from typing import Any

import numpy as np


class Heads:
    """Heads of messages in JSON: the tag, dtype and shape of an array, or how a side
    has ended. Programs say the same again and again.
    """

    def __init__(self) -> None:
        self.said: dict[Any, bytes] = {}
        self.heard: dict[bytes, Any] = {}

    def written(self, tag: str, array: Any) -> bytes:
        """Return the head of a message with an array."""
        kind = tag, array.dtype, array.shape
        head = self.said.get(kind)
        if head is None:
            says = {"tag": tag, "dtype": str(array.dtype), "shape": array.shape}
            head = self.said[kind] = json.dumps(says).encode()
        return head

    def read(self, text: bytes) -> Any:
        """Return what a head says: how the other side has ended, or the tag, shape and
        dtype of an array.
        """
        head = self.heard.get(text)
        if head is None:
            head = json.loads(text)
            if "end" not in head:
                head["shape"] = tuple(head["shape"])
                head["dtype"] = np.dtype(head["dtype"])
            self.heard[text] = head
        return head
