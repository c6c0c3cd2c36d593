"""How names read in programs of JAX libraries: ``python benchmarks/library_names.py [NAME ..]``.

Every program of ``benchmarks/libraries`` whose library is installed is emitted with all sources at hand
and without: statements, and the shares of names that are an operation's alone or end in a number.
``EQX_ON_ERROR=nan`` leaves out the callbacks of equinox. ``--write DIR`` keeps the lowered HLO texts there.
"""

import argparse
import gzip
from dataclasses import replace
from pathlib import Path
from statistics import median

import jax

import xla2py
from xla2py.benchmarks.libraries import inference, networks, science
from xla2py.documentation.name_counts import name_counts
from xla2py.documentation.reading import measure
from xla2py.examples.lower import relative_paths

PROGRAMS = {make.__name__: make for topic in (networks, inference, science) for make in topic.PROGRAMS}


def figures(function, arguments):
    """(statements, generic share, numbered share) with sources, and without."""
    module = xla2py.from_jax(function, *arguments)
    for given in (module, replace(module, sources={})):
        source = xla2py.emit(given).source
        counts = name_counts(source)
        yield measure(source).statements, counts.generic, counts.numbered


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all by default")
    parser.add_argument("--write", type=Path, metavar="DIR", help="keep the lowered HLO texts there")
    given = parser.parse_args()
    found = []
    print("program                          with sources          without\n" + 33 * " " + 2 * "stm.  gen. num.       ")
    for name in given.names or PROGRAMS:
        try:
            function, arguments = PROGRAMS[name]()
        except ImportError as error:
            print(f"{name:32} {error}")
            continue
        if given.write is not None:
            text = relative_paths(jax.jit(function).lower(*arguments).as_text("hlo", debug_info=True))
            (given.write / f"{name}.hlo.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        found.append(tuple(figures(function, arguments)))
        print(f"{name:32}" + "      ".join(f"{s:5} {g:5.0%} {n:4.0%}" for s, g, n in found[-1]))
    if found:
        middle = [[median(column) for column in zip(*form, strict=True)] for form in zip(*found, strict=True)]
        print(f"{'median':32}" + "      ".join(f"{s:5.0f} {g:5.0%} {n:4.0%}" for s, g, n in middle))


if __name__ == "__main__":
    main()
