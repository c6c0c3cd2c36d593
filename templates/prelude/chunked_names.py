"""Names of arrays in Dask's task graphs: equal names mean equal arrays."""

import linecache
from types import FunctionType
from typing import Any
from uuid import uuid4

import dask.array as da
from dask.tokenize import tokenize
from dask.utils import key_split

TOKEN = "__dask_tokenize__"  # the method that identifies an object, if it has one
FIRST = "__first_text__"  # the text with which a module was first loaded


def name_by_text(module: dict[str, Any]) -> None:
    """Make Dask identify the functions and classes of a module, given by its
    ``globals()``, by the module's text.

    By default Dask identifies them by their names, which another module, or this one
    after a change, may have as well. If the module has been changed and loaded again,
    workers may have the old one: its functions and classes are then assigned to a
    module that nobody can import, so that they are pickled by value.
    """
    file = module.get("__file__") or ""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, module)) or uuid4().hex
    is_changed = module.setdefault(FIRST, text) != text
    for name, member in list(module.items()):
        if getattr(member, "__module__", None) != module.get("__name__"):
            continue
        if is_changed and callable(member):
            member.__module__ = f"{member.__module__}, changed"
        key = tokenize(text, name)
        if isinstance(member, FunctionType):
            setattr(member, TOKEN, lambda key=key: key)
        elif isinstance(member, type) and TOKEN not in vars(member):
            setattr(member, TOKEN, lambda x, key=key: (key, tokenize(vars(x))))


def name_for(phase: str, *made_of: Any) -> str:
    """Return the name of the array that a phase computes: equal inputs give equal
    names, also in other processes, and different inputs give different names.
    """
    return f"{phase}-{tokenize(name_for, phase, *made_of)}"


def phase_of(x: da.Array) -> str:
    """Return the name of an array's tasks in progress bars and dashboards."""
    phase: str = key_split(x.name)
    return phase
