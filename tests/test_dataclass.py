"""Classes whose methods are made at their first call are what the standard library's dataclasses are."""

import dataclasses
import inspect
import pickle
from copy import deepcopy

import pytest

from xla2py.transpile.dataclass import dataclass as lazy


@lazy(frozen=True, slots=True)
class Frozen:
    a: int
    b: tuple[int, ...] = ()
    c: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)
    d: int = dataclasses.field(default=4, init=False)


@lazy(slots=True)
class Changing:
    a: int
    b: int = 2

    def __post_init__(self):
        self.b += self.a


@lazy(frozen=True, eq=False)
class Identity:
    a: int


@lazy(frozen=True, slots=True, kw_only=True)
class Named:
    a: int
    b: int = 2

    def __repr__(self):
        return "own"


@lazy(frozen=True, slots=True)
class Unguarded:
    a: int
    b: int = 2
    __setattr__ = object.__setattr__


CLASSES = {
    Unguarded: dataclasses.dataclass(frozen=True, slots=True),
    Frozen: dataclasses.dataclass(frozen=True, slots=True),
    Changing: dataclasses.dataclass(slots=True),
    Identity: dataclasses.dataclass(frozen=True, eq=False),
    Named: dataclasses.dataclass(frozen=True, slots=True, kw_only=True),
}


def usual(lazy_class):
    """The standard library's class with the same fields and methods of its own."""
    made = {"__slots__", "__dict__", "__weakref__", "__dataclass_fields__", "__dataclass_params__", "__match_args__"}
    methods = {"__post_init__"} | ({"__repr__"} if lazy_class is Named else set())
    own = {name: value for name, value in vars(lazy_class).items() if name in methods and name not in made}
    defaults = {}
    for each in dataclasses.fields(lazy_class):
        options = {key: getattr(each, key) for key in ("init", "repr", "compare")}
        default = {key: getattr(each, key) for key in ("default", "default_factory")}
        defaults[each.name] = dataclasses.field(**options, **default)
    members = {"__annotations__": lazy_class.__annotations__, "__qualname__": lazy_class.__qualname__, **own}
    return CLASSES[lazy_class](type(lazy_class.__name__, (), members | defaults))


@pytest.mark.parametrize("cls", CLASSES)
def test_objects_are_made_compared_hashed_and_shown_alike(cls):
    twin = usual(cls)
    for given in ({"a": 1}, {"a": 1, "b": 7}):
        if cls is Identity and "b" in given:
            continue
        made, other, expected = cls(**given), cls(**given), twin(**given)
        assert repr(made) == repr(expected)
        assert (made == other) == (expected == twin(**given)) and made != cls(**{**given, "a": 2})
        assert (cls.__hash__ is None) == (twin.__hash__ is None)
        assert cls.__hash__ is None or (hash(made) == hash(other)) == (hash(expected) == hash(twin(**given)))
        assert dataclasses.asdict(made) == dataclasses.asdict(expected)
    assert cls.__match_args__ == twin.__match_args__
    parameters = [inspect.signature(each).parameters.values() for each in (cls, twin)]
    assert len({tuple((each.name, each.kind, each.annotation) for each in side) for side in parameters}) == 1
    for wrong in ({}, {"a": 1, "z": 2}):
        with pytest.raises(TypeError):
            cls(**wrong)


def test_frozen_objects_cannot_be_changed_but_unguarded_ones():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        Frozen(1).a = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
        del Frozen(1).a
    changing = Unguarded(1)
    changing.a = 2
    assert changing == Unguarded(2)
    assert dataclasses.replace(Frozen(1), b=(3,)) == Frozen(1, (3,))
    assert Changing(1).b == 3


@pytest.mark.parametrize("value", [Frozen(1, (2,), [3]), Changing(1, 2)])
def test_objects_are_copied_and_pickled(value):
    assert deepcopy(value) == value == pickle.loads(pickle.dumps(value))


def test_lists_are_not_shared():
    assert Frozen(1).c is not Frozen(1).c
