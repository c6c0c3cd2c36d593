"""How emitted code is written: macros, and the prelude's functions."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def of_prelude(place: str) -> Callable[..., Any]:
    """Return a function ``module.name``, whose module is imported when it is called."""
    module, name = place.split(".")

    def called(*arguments: Any) -> Any:
        return getattr(import_module(f".prelude.{module}", __name__), name)(*arguments)

    return called
