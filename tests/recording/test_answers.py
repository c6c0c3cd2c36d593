"""Answers are recorded, believed, doubted and dropped; keys are the same wherever a question is asked."""

from types import SimpleNamespace

import numpy as np
import pytest

from xla2py.tests.recording import modules
from xla2py.tests.recording.answers import Answers, NotRecordedError
from xla2py.tests.recording.plugin import _long_first
from xla2py.tests.recording.questions import Question, program
from xla2py.tests.recording.store import Store
from xla2py.tests.recording.values import NoAnswerError, from_json, to_json
from xla2py.transpile.errors import Diagnostic, XlaToPythonError
from xla2py.transpile.hlo.ir import Trees

QUESTION = Question("what is it?", ("run", np.float32([1, 2])))
TEXT = Question("which program?", ("as HLO",), is_text=True)


@pytest.fixture
def answers(tmp_path):
    """Of a mode and a version of JAX, from the same folder."""

    def make(mode="recorded", version="0.10"):
        made = Answers(Store(tmp_path), mode)
        made.version, made.module, made.test = version, "passes/test_this", "test_it"
        return made

    return make


def never():
    raise AssertionError("this was asked")


def recorded(made, question=QUESTION, answer=(1,)):
    made.ask(question, lambda: answer)
    made.write({made.module}, {made.module})


def test_a_recorded_answer_is_not_asked_again(answers):
    recorded(answers("record"))
    assert answers().ask(QUESTION, never) == (1,)
    assert answers(version="").ask(QUESTION, never) == (1,)


def test_what_is_not_recorded_is_asked_and_not_written(answers, tmp_path):
    made = answers()
    recorded(made)
    assert not list(tmp_path.rglob("*.jsonl")) and made.unrecorded == {made.module: 1}
    with pytest.raises(NotRecordedError, match="make record"):
        answers(version="").ask(QUESTION, never)


def test_a_refusal_is_an_answer_and_a_timeout_is_none(answers):
    def refuse(code):
        raise XlaToPythonError(Diagnostic(code, "no"))

    made = answers("record")
    for question, code in ((QUESTION, "XP461"), (TEXT, "XP463")):
        with pytest.raises(XlaToPythonError, match=code):
            made.ask(question, lambda code=code: refuse(code))
    made.write({made.module}, set())
    with pytest.raises(XlaToPythonError, match="XP461: no"):
        answers().ask(QUESTION, never)
    assert answers().ask(TEXT, lambda: "asked") == "asked"


def test_an_answer_of_nan_is_the_same_again(answers):
    for _ in range(2):
        recorded(answers("record"), answer=np.float32([np.nan]))
    made = answers("live")
    made.ask(QUESTION, lambda: np.float32([np.nan]))
    assert not made.disagreements and len(made.store.records(made.module).by_key[QUESTION.key]) == 1


def test_an_answer_that_does_not_fit_any_more_is_none(answers):
    recorded(answers("record"))
    with pytest.raises(NotRecordedError):
        answers(version="").ask(QUESTION, never, fits=lambda given: given == (2,))
    made = answers("record")
    assert made.ask(QUESTION, lambda: (2,), fits=lambda given: given == (2,)) == (2,)
    made.write({made.module}, set())
    assert answers(version="").ask(QUESTION, never) == (2,)


def test_trees_without_a_field_that_they_have_now_are_not_whole():
    trees = [Trees((0,), frozenset(), (1,), ("x",))]
    tree = modules._plain(trees)
    assert modules.is_whole(tree) and modules._object(tree) == trees
    del tree[0]["depths"]
    assert not modules.is_whole({"inside": tree})


def test_live_answers_tell_what_changed(answers):
    recorded(answers("record"))
    made = answers("live")
    assert made.ask(QUESTION, lambda: (2,)) == (2,)
    assert made.disagreements == ["passes/test_this: test_it: what is it?"]


def test_texts_are_those_of_one_version_and_values_of_any(answers):
    recorded(answers("record"), TEXT, "old")
    recorded(answers("record"), TEXT, "old")
    assert answers(version="").ask(TEXT, never) == "old"
    assert answers(version="0.12").ask(TEXT, lambda: "new") == "new"
    recorded(answers("record", "0.12"), TEXT, "new")
    assert [answers(version=version).ask(TEXT, never) for version in ("0.10", "0.12")] == ["old", "new"]
    recorded(answers("record"))
    assert answers(version="0.12").ask(QUESTION, never) == (1,)


def test_what_nobody_asks_under_a_version_is_dropped(answers):
    recorded(answers("record"))
    recorded(answers("record", "0.12"))
    recorded(answers("record"), TEXT, "text")
    assert answers(version="").ask(QUESTION, never) == (1,)
    recorded(answers("record", "0.12"), TEXT, "text")
    with pytest.raises(NotRecordedError):
        answers(version="").ask(QUESTION, never)


def test_modules_that_did_not_run_whole_keep_their_records(answers):
    recorded(answers("record"))
    made = answers("record")
    made.write({made.module}, set())
    assert answers().ask(QUESTION, never) == (1,)


def test_an_answer_of_another_module_is_found(answers):
    """A program that several modules share is asked for by the first of them that runs."""
    recorded(answers("record"))
    made = answers()
    made.module = "passes/test_that"
    assert made.ask(QUESTION, never) == (1,)


def test_answers_that_cannot_be_kept_are_given_all_the_same(answers):
    assert answers("record").ask(QUESTION, object).__class__ is object


@pytest.mark.parametrize(
    "value",
    [
        np.float32([1.5, -0.0, np.inf, np.nan]),
        np.arange(60, dtype=np.int8).reshape(3, 4, 5),
        np.linspace(0, 1, 100),
        np.complex64([1 + 2j, complex(-0.0, np.nan)]),
        np.array(True),
        np.zeros((0, 3), np.uint64),
        np.zeros((2, 0), np.complex64),
        np.uint64([2**64 - 1]),
        np.arange(20, dtype="bfloat16"),
        np.array([1, -2], "int4"),
        np.arange(-8, 8).astype("int4"),
        np.frombuffer(np.uint32([0x7FC00001, 0xFFC00000]).tobytes(), np.float32),  # NaNs that are others
    ],
    ids=str,
)
def test_arrays_are_kept_bit_by_bit(value):
    again = from_json(to_json(value))
    assert (again.dtype, again.shape, again.tobytes()) == (value.dtype, value.shape, value.tobytes())


def test_numbers_that_overflow_are_kept_without_warnings():
    numbers = np.full(20, 1e308)
    with np.errstate(all="raise"):
        for value in (numbers, np.full(20, np.inf), np.array([np.nan]), np.full(3, 2.0**100, "bfloat16")):
            np.testing.assert_array_equal(from_json(to_json(value)), value)


def test_trees_and_texts_are_kept():
    for value in ((1, [None, {"a": "b", 2: True, (0, ("x",)): 3}]), "text\n" * 1000):
        assert from_json(to_json(value)) == value
    with pytest.raises(NoAnswerError):
        to_json({"a": object()})


def test_keys_depend_on_types_shapes_and_values():
    given = [1, 1.0, True, "1", np.int32(1), np.int64(1), np.int32([1]), (1,), [1], [[1]], [[1], []], None]
    assert len({Question("", (each,)).key for each in given}) == len(given)
    assert Question("a", (1,)).key == Question("b", (1,)).key


def test_programs_that_differ_in_where_they_come_from_are_one_question():
    plain = "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}"
    told = plain.replace("m\n", 'm\n\nFileNames\n1 "a.py"\n\nStackFrames\n1 {file_location_id=1}\n', 1)
    told = told.replace("(0)", '(0), metadata={op_name="a}\\"b" stack_frame_id=1}')
    assert program(told) == program(plain)


@pytest.mark.parametrize("workers", [1, 3, 4])
@pytest.mark.parametrize("names", ["aaabbcdddeeeeee", "aabb", "eeeeeee", ""])
def test_files_that_take_long_begin_the_shares_of_workers(names, workers):
    """Files a to d do; no test is lost."""
    items = [SimpleNamespace(path=name, get_closest_marker=lambda mark, name=name: name < "e") for name in names]
    found = "".join(item.path for item in _long_first(items, workers))
    assert sorted(found) == sorted(names)
    if names == "aaabbcdddeeeeee" and workers == 3:
        assert found == "aaaddd" + "bbee" + "ceeee"
