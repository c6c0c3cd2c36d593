"""Python's collector of reference cycles while a program is read or emitted, or code is imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused(*, lives_on: bool = False) -> Iterator[None]:
    """Pause the search for cycles of garbage.

    The graphs of a program live until it is written, and modules until the process ends: looking through them again and
    again takes a third of the time and frees nothing. What ``lives_on`` counts as old at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if lives_on and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # everything is in the oldest generation now
        if was_enabled:
            gc.enable()
