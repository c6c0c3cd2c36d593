"""The classes of results: what makes their objects again in an emitted module."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..hlo.ir import Built, ResultTree
from .expression import Renderer
from .names import Names
from .parts import Part
from .result_trees import with_classes

# The functions of the prelude that find a class: of named tuples, of other objects.
TUPLES, OBJECTS = "tuple_class", "class_or_tuple"
Class = tuple[str, str, str, str]  # function that finds it, module, name in it, literal of the constants


class ResultClasses(Part):
    """A name for each class of a module's results, ``State = tuple_class("training", "State")``.

    ``tree`` is the tree of the results with these names.
    """

    def __init__(self, tree: ResultTree) -> None:
        self._names = Names(set())
        self._by_class: dict[Class, str] = {}
        self.tree = with_classes(tree, self._name)

    def _name(self, built: Built) -> str:
        maker = OBJECTS if built.fields or built.constants else TUPLES
        key = maker, built.module, built.name, built.constants
        if key not in self._by_class:
            self._by_class[key] = self._names.kept(built.name.rpartition(".")[2])
        return self._by_class[key]

    def keep(self, text: str) -> set[str]:
        """Forget the classes of which no object is made in the text of the functions; return what of the prelude is
        needed no more.
        """
        before = set(self.prelude_names)
        self._by_class = {key: name for key, name in self._by_class.items() if re.search(rf"\b{name}\(", text)}
        return before - set(self.prelude_names)

    @property
    def prelude_names(self) -> Sequence[str]:
        return tuple(dict.fromkeys(maker for maker, *_ in self._by_class))

    @property
    def names(self) -> set[str]:
        return set(self._by_class.values())

    def behind(self, renderer: Renderer) -> list[str]:
        rows = [(name, *key) for key, name in self._by_class.items()]
        return [renderer.statement("result_classes", rows)] if rows else []
