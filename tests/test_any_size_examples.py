"""Every example whose sizes can be free is one module for all of them, which gives what XLA gives for each."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from xla2py.tests.whole import much  # noqa: E402
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest  # noqa: E402
from xla2py.transpile.equivalence.inputs.sizes import sizes_to_check  # noqa: E402
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child  # noqa: E402
from xla2py.transpile.equivalence.verdicts.comparison import compare  # noqa: E402
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for  # noqa: E402
from xla2py.transpile.hlo.printer import print_module  # noqa: E402

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))
examples, lower = (importlib.import_module(name) for name in ("any_size", "lower"))
sys.path.remove(str(ROOT / "examples"))

# Seeds, and how much larger than the least a size is; later ones are larger still.
LARGER = much(((1, 3),), tuple(enumerate((0, 3, 8))))


@pytest.mark.skipif(jax.__version__ != lower.WRITTEN_BY, reason=f"the gallery is what JAX {lower.WRITTEN_BY} traces")
@pytest.mark.parametrize("name", sorted(examples.FREE))
def test_one_module_for_all_sizes(name):
    witnesses = examples.with_free_sizes(name)
    emitted = examples.emitted(name)
    assert emitted.source == (ROOT / "generated" / "any_size" / f"{name}.py").read_text("utf-8"), "run the gallery"
    assert len(sizes_to_check(emitted.sizes, witnesses.sizes)) >= 10
    generic = emitted.load()
    assert set(generic.SIZES) == set(examples.FREE[name].values())
    for seed, more in LARGER:
        sizes = {size: own[0] + own.step * (more + k * seed) for k, (size, own) in enumerate(generic.SIZES.items())}
        if name in examples.WELL_POSED:
            assert not examples.differences(name, emitted, sizes, seed)
            continue
        module = witnesses.at(sizes)
        arrays = make_inputs(module, seed)
        arguments = nest([parameter.shape for parameter in module.entry.parameters], arrays)
        expected = run_hlo_in_child(print_module(module), *arrays)
        with np.errstate(all="ignore"):
            found = generic.main(*arguments)
        leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(found)]
        wrong = [leaf for leaf in compare(expected, leaves, budgets_for(module)) if not leaf.status.is_good]
        assert not wrong, f"at {sizes}: {wrong[0]}"


def test_every_example_has_a_row_with_its_sizes_or_the_reason():
    section = examples.PAGE.read_text("utf-8").partition("## The examples")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("|")]
    cells = {re.sub(r"\[|\].*", "", row[0]).strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert set(examples.FREE) | set(examples.WHY_NONE) == set(lower.NAMES)
    assert set(cells) - {"example", "---", "all"} == set(lower.NAMES)
    for name in ("attention", "viterbi"):
        sizes, generic, one = examples.row(name)
        assert cells[name] == [sizes, str(generic), str(one)], "python examples/any_size.py --table"
    generic, one = (sum(int(cells[name][k]) for name in examples.FREE) for k in (1, 2))
    assert generic <= 1.1 * one


def test_the_gallery_has_no_other_modules_for_any_size():
    assert {path.stem for path in (ROOT / "generated" / "any_size").glob("*.py")} == set(examples.FREE)
