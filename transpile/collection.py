"""Control of Python's garbage collector while a program is read or emitted, or code is imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused(*, lives_on: bool = False) -> Iterator[None]:
    """Pause the collector of reference cycles.

    The graphs of a program live until it is written, and modules until the process ends: scanning them again and again
    takes a third of the time and frees nothing. With ``lives_on``, new objects move to the oldest generation at once;
    otherwise the collector scans all of them when it is on again, which is a seventh of the time of reading StableHLO.
    Cycles among them are freed late, so code that runs often must not leave any.
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
