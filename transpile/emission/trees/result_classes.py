"""The classes of results: small ones of the module with the same fields, or those of the traced program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...hlo.ir import Built, ResultTree
from ...python.names import names_of
from ..expression import Renderer
from ..layout import Layout
from ..lines import Line
from ..naming.identifiers import Names, identifier
from ..parts import Part
from .result_groups import with_objects

IMPORTED = "import"  # the option for the traced program's classes

# How objects of an imported class are made: the prelude function that finds the maker.
_MAKERS = {"call": "class_of", "set": "setter_of", "unflatten": "unflattener_of"}
_TAKEN = {"Any", "Array", "Block", "Callable", "Group", "NamedTuple", "Scalar", "Tree", "dataclass"}

_Own = tuple[str, tuple[str, ...]]  # the name of a class and its fields
_Imported = tuple[str, str, str, str]  # prelude function that finds the maker, module, name in it, constants


class ResultClasses(Part):
    """A name for each class of a module's results.

    ``tree`` is the tree of the results with these names; objects whose parts have no names become plain tuples.
    ``notes`` lists the deviations from the requested classes. ``taken`` are names that no class may have.
    """

    def __init__(self, tree: ResultTree, choice: str, taken: Iterable[str]) -> None:
        self._choice = choice
        self._names = Names(_TAKEN.union(taken))
        self._own: dict[_Own, tuple[str, Built]] = {}
        self._imported: dict[_Imported, str] = {}
        self.notes: dict[str, None] = {}
        self.tree = with_objects(tree, self._made)

    def _made(self, built: Built) -> ResultTree:
        word = built.name.rpartition(".")[2]
        if self._choice == IMPORTED and built.maker:
            key = _MAKERS[built.maker], built.module, built.name, built.constants
            if key not in self._imported:
                self._imported[key] = self._names.kept(word)
            fields = () if built.maker == "unflatten" else built.fields
            return replace(built, name=self._imported[key], fields=fields)
        if len(built.fields) < len(built.parts):
            self.notes[f"{word} is returned as a plain tuple of its parts"] = None
            return built.parts
        if self._choice == IMPORTED:
            self.notes[f"{word} cannot be imported: objects with its fields are returned"] = None
        own = word, built.fields
        if own not in self._own:
            self._own[own] = self._names.kept(identifier(word)), built
        return replace(built, name=self._own[own][0])

    def keep(self, lines: Iterable[Line]) -> set[str]:
        """Drop the classes of which the functions' lines make no object; return the prelude functions now unused."""
        named = {name for line in lines for name in names_of(line.text).read} if self.names else ()
        before = set(self.prelude_names)
        self._imported = {key: name for key, name in self._imported.items() if name in named}
        self._own = {key: pair for key, pair in self._own.items() if pair[0] in named}
        return before - set(self.prelude_names)

    @property
    def prelude_names(self) -> Sequence[str]:
        return tuple(dict.fromkeys(maker for maker, *_ in self._imported))

    @property
    def names(self) -> set[str]:
        return {*self._imported.values(), *(name for name, _ in self._own.values())}

    def functions(self, renderer: Renderer) -> list[str]:
        return [
            renderer.statement(
                "own_class",
                name,
                _origin(built, renderer.layout),
                fields,
                any(field.startswith("_") for field in fields),
            )
            for (_, fields), (name, built) in self._own.items()
        ]

    def behind(self, renderer: Renderer) -> list[str]:
        rows = [(name, *key) for key, name in self._imported.items()]
        return [renderer.statement("imported_classes", rows)] if rows else []


def _origin(built: Built, layout: Layout) -> str:
    """Return the name of the traced class, qualified if that fits into a line."""
    whole = f"{built.module}.{built.name}"
    fits = whole.isascii() and whole.replace(".", "_").isidentifier() and layout.fits(whole, 30)
    return whole if fits else identifier(built.name.rpartition(".")[2])
