"""``dataclass`` of the standard library with methods that are made at their first call.

``dataclasses`` compiles about five functions for each class when its module is imported. That took a third of the time
of the first ``emit`` of a process, and most of these functions were never called. Here only ``__init__`` is compiled,
by its first call; the other methods are closures. Type checkers see the standard library's.

The guard of frozen objects calls a setter for each field of a new one. A class of which a program has very many objects
has ``__setattr__ = object.__setattr__`` instead: then only type checkers make sure that nothing changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, repr=True, slots=False, kw_only=False):
        """Return the class with the methods that ``dataclasses.dataclass`` adds for the same options."""
        if cls is None:
            return lambda cls: dataclass(cls, eq=eq, frozen=frozen, repr=repr, slots=slots, kw_only=kw_only)
        own = set(vars(cls))
        made = dataclasses.dataclass(init=False, eq=False, repr=False, slots=slots, kw_only=kw_only)(cls)
        is_guarded = frozen and "__setattr__" not in own
        methods = {"__init__": _first_init(made, is_guarded)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _comparison(made, frozen)
        if is_guarded:
            methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deletion}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made


def _first_init(cls: type, is_guarded: bool) -> Callable[..., None]:
    """Return an ``__init__`` that compiles the real one at the first call, installs it and calls it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        compiled = _init(cls, is_guarded)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *args, **kwargs)

    return __init__


def _init(cls: Any, is_guarded: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    slots = getattr(cls, "__slots__", ())
    positional, named, body = ["self"], list[str](), list[str]()
    for field in dataclasses.fields(cls):
        name = value = field.name
        parameter = name
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        if is_guarded and name in slots:  # the slot's own setter is the fastest
            scope[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})" if is_guarded else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    head = ", ".join([*positional, *(["*", *named] if named else [])])
    exec(f"def __init__({head}):\n " + "\n ".join(body or ["pass"]), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in dataclasses.fields(cls) if each.init} | {"return": None}
    return init


def _comparison(cls: Any, frozen: bool) -> dict[str, Any]:
    """Return ``__eq__`` of the compared fields, and ``__hash__`` if the class is frozen."""
    fields = dataclasses.fields(cls)
    compared = _values_of([field.name for field in fields if field.compare])
    hashed = _values_of([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __eq__(self: Any, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda value: ()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_setting(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
