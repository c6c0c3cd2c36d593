"""Random programs whose sizes are free."""

import pytest

from xla2py.transpile.emission import emit
from xla2py.transpile.fuzzing import any_size
from xla2py.transpile.fuzzing.free_sizes import STEPS, names_of, program_at
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.verifier import verify


def test_programs_are_valid_and_the_same_but_for_sizes():
    counts = set()
    for seed in range(60):
        names = names_of(seed)
        counts.add(len(names))
        small, large = ({name: low + 3 * k for k, name in enumerate(names)} for low in (11, 40))
        programs = [program_at(seed, sizes) for sizes in (small, large)]
        for program in programs:
            verify(program)
        assert len({tuple(i.opcode for i in program.instructions()) for program in programs}) == 1
        assert print_module(programs[0]) == print_module(program_at(seed, small)) != print_module(programs[1])
    assert counts == {1, 2, 3}


def test_every_step_is_drawn(monkeypatch):
    drawn = set()

    def counted(step):
        def call(drawing):
            made = step(drawing)
            drawn.add(step)
            return made

        return call

    monkeypatch.setattr("xla2py.transpile.fuzzing.free_sizes.STEPS", tuple(map(counted, STEPS)))
    for seed in range(60):
        program_at(seed, dict.fromkeys(names_of(seed), 12))
    assert drawn == set(STEPS)


def test_modules_for_any_size_agree_with_those_for_each(xla2py):
    code, out, _ = xla2py("fuzz", "--any-size", "--seeds", "4")
    assert code == 0 and out.splitlines()[0] == "4 programs, 4 agree at every size, 0 do not"


@pytest.mark.parametrize("style", ["readable", "fused"])
def test_modules_of_cupy_for_any_size_agree_with_those_of_numpy(style, xla2py):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    options = ("-t", "cupy", "--style", style)
    code, out, _ = xla2py("fuzz", "--any-size", "--first-seed", "3", "--seeds", "2", *options)
    assert code == 0 and out.splitlines()[0] == "2 programs, 2 agree at every size, 0 do not"


def test_a_wrong_value_is_told_with_its_seed(xla2py, monkeypatch):
    def broken(source, *target, **options):
        emitted = emit(source, *target, **options)
        is_generic = bool(emitted.sizes)
        text = emitted.source.replace("\n    return ", "\n    return 1 + ", 1) if is_generic else emitted.source
        return emitted.__class__(text, emitted.name, emitted.target, sizes=emitted.sizes)

    monkeypatch.setattr(any_size, "emit", broken)
    code, out, _ = xla2py("fuzz", "--any-size", "--seeds", "1")
    assert code == 1 and "seed 0: at {" in out


def test_options_that_do_not_count_are_refused(xla2py):
    for options in (("--ops", "add"), ("-t", "numpy,cupy")):
        code, _, err = xla2py("fuzz", "--any-size", *options)
        assert code == 2 and "--any-size" in err
