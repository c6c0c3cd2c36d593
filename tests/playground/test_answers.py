"""What the page is answered: modules with their links, errors with their places, runs, comparisons; never a file."""

import base64
import io
import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.playground.answers import answer
from xla2py.transpile.playground.running import picture
from xla2py.transpile.playground.site import site_files

SITE = site_files()
SOFTMAX = SITE["examples/softmax.hlo"].read_text(encoding="utf-8")
STABLEHLO = SITE["examples/feed_forward.mlir"].read_text(encoding="utf-8")
PAIR = "ENTRY main { x = f32[3] parameter(0)  n = f32[3] negate(x)  ROOT t = (f32[3], f32[3]) tuple(x, n) }"


def ask(kind, text=SOFTMAX, **more):
    """An answer, which must be JSON."""
    return json.loads(json.dumps(answer({"ask": kind, "text": text, **more}), allow_nan=False))


def test_what_can_be_chosen_names_no_file_and_no_function():
    about = ask("about")
    assert [target["name"] for target in about["targets"]][:3] == ["numpy", "cupy", "dask"]
    names = {setting["name"] for setting in about["settings"]}
    assert {"style", "edge-cases", "line-length"} <= names
    assert not names & {"sources", "custom-call", "allow", "helpers"}


@pytest.mark.parametrize("text", [SOFTMAX, STABLEHLO], ids=["hlo", "stablehlo"])
def test_a_module_has_links_from_the_users_own_lines(text):
    found = ask("emit", text)
    lines = text.split("\n")
    assert ["".join(token[0] for token in tokens) for tokens, _ in found["rows"]] == found["source"].rstrip("\n").split(
        "\n"
    )
    by_statement = {number: at for at, (_, numbers) in enumerate(found["rows"]) for number in numbers}
    wanted, computed = ("exponential(", "np.exp(") if text is SOFTMAX else ("stablehlo.tanh", "tanh(")
    (line,) = (number for number, each in enumerate(lines, 1) if wanted in each)
    statements, _ = found["links"][str(line)]
    assert (
        any(computed in found["source"].split("\n")[by_statement[number]] for number in statements) or text is STABLEHLO
    )
    returned = len(lines) - lines[::-1].index(
        next(each for each in reversed(lines) if "add" in each or "divide" in each)
    )
    assert found["links"][str(returned)][1], "the last value is given by the last statement"


def test_an_error_has_its_place():
    (found,) = ask("emit", SOFTMAX.replace("divide(", "devide("))["errors"]
    place = SOFTMAX.split("\n")[found["line"] - 1]
    assert (found["code"], place[found["column"] - 1 : found["end"] - 1]) == ("XP110", "divide")
    (found,) = ask("emit", STABLEHLO.replace("stablehlo.tanh", "stablehlo.tan_h"))["errors"]
    assert "stablehlo.tanh" in STABLEHLO.split("\n")[found["line"] - 1]


@pytest.mark.parametrize("text", ["/etc/passwd", "model:predict(f32[8])", __file__])
def test_a_text_is_never_a_file_or_a_function(text):
    (found,) = ask("emit", text)["errors"]
    assert found["code"] == "XP102"


@pytest.mark.parametrize(
    "options",
    [{"sources": "/"}, {"custom-call": ["f=os:system"]}, {"style": "quick"}, {"line-length": 10**9}, {"nested": 1}],
)
def test_options_that_a_page_has_not_are_refused(options):
    (found,) = ask("emit", options=options)["errors"]
    assert found["code"] == "XP416"


@pytest.mark.parametrize(
    "question, expected",
    [
        ({}, "`text` is missing"),
        ({"text": None}, "`text` should be a string"),
        ({"ask": ["emit"]}, "`ask` should be a string"),
        ({"text": SOFTMAX, "target": 3}, "`target` should be a string"),
        ({"text": SOFTMAX, "options": []}, "`options` should be a table"),
        ({"ask": "run", "text": SOFTMAX, "seed": True}, "`seed` should be an integer"),
        ({"ask": "run", "text": SOFTMAX, "seed": -1}, "`seed` should not be negative"),
        ({"ask": "compare", "text": SOFTMAX, "sides": {}}, "`sides` should be a list"),
        ({"ask": "compare", "text": SOFTMAX, "sides": [{}, 1]}, "`sides` should be two tables"),
        ({"ask": "compare", "text": SOFTMAX, "sides": [{}, {}], "only_text": 1}, "`only_text` should be true or false"),
        ({"ask": "read", "content": 1}, "`content` should be a string"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(question, expected):
    (found,) = answer({"ask": "emit", **question})["errors"]
    assert found["code"] == "XP400" and expected in found["message"]


def test_unknown_questions_and_targets_are_refused():
    assert ask("eval")["errors"][0]["code"] == "XP400"
    assert ask("emit", target="../numpy")["errors"][0]["code"] == "XP406"
    assert answer({})["errors"][0]["code"] == "XP400"
    assert ask("emit", target="numpy", options=[1])["errors"]


def test_a_run_has_arguments_results_and_pictures():
    found = ask("run", seed=3)
    (argument,), (result,) = found["arguments"], found["results"]
    assert (argument["name"], result["name"]) == ("x", "result")
    assert (result["dtype"], result["shape"]) == ("float32", [16, 64])
    assert np.allclose(np.array(result["picture"]["rows"]).sum(axis=1), 1, atol=1e-4)
    assert abs(result["statistics"]["mean"] - 1 / 64) < 1e-6
    assert ask("run", seed=3)["results"] == found["results"] != ask("run", seed=4)["results"]


def test_a_run_names_the_parts_of_tuples_and_takes_arrays_where_main_takes_trees():
    found = ask("run", PAIR, options={"nested": True})
    assert [each["name"] for each in found["results"]] == ["result.0", "result.1"]
    assert found["results"][0]["text"].startswith("[")


def test_a_comparison_tells_lines_and_values_apart():
    sides = [{"target": "numpy"}, {"target": "numpy", "options": {"annotate": "full"}}]
    found = ask("compare", sides=sides)
    assert found["changed"][1] and [each["verdict"] for each in found["results"]] == ["equal"]
    assert len(found["runs"]) == 2
    assert set(ask("compare", sides=sides, only_text=True)) == {"changed"}


def test_a_download_is_python_or_an_archive_with_its_constants():
    found = ask("download")
    assert (found["file"], b"def main" in base64.b64decode(found["content"])) == ("softmax.py", True)
    numbers = ", ".join(str(k * k) for k in range(100))
    table = (
        f"ENTRY main {{ x = s32[100] parameter(0) t = s32[100] constant({{{numbers}}}) ROOT z = s32[100] add(x, t) }}"
    )
    found = ask("download", table)
    names = zipfile.ZipFile(io.BytesIO(base64.b64decode(found["content"]))).namelist()
    assert found["file"].endswith(".zip") and [Path(name).suffix for name in names] == [".py", ".npz"]


def test_a_file_that_is_no_text_is_read_and_shown_as_hlo():
    content = base64.b64encode(SOFTMAX.encode("utf-16")).decode()
    assert "exponential(" in ask("read", content=content)["text"]
    assert ask("read", content="no base 64!")["errors"]
    assert ask("read", content="")["errors"]


def test_examples_emit_and_run():
    for name, path in SITE.items():
        if name.startswith("examples/"):
            assert not ask("run", path.read_text(encoding="utf-8")).get("errors"), name


@pytest.mark.parametrize(
    "array, kind, size",
    [
        (np.zeros((1000, 7)), "map", (96, 7)),
        (np.zeros(3), "curve", 3),
        (np.zeros(10_000), "curve", 256),
        (np.zeros((2, 1, 5)), "curve", 5),
        (np.zeros((2, 4, 5), complex), "map", (4, 5)),
    ],
)
def test_pictures_have_few_numbers(array, kind, size):
    found = picture(array)
    assert found["kind"] == kind
    assert (np.shape(found["rows"]) if kind == "map" else len(found["low"])) == size


def test_a_picture_shows_extremes_and_leaves_out_what_is_not_finite():
    values = np.zeros(10_000)
    values[5000] = 7
    assert max(picture(values)["high"]) == 7
    assert picture(np.array([[np.nan, 1], [np.inf, 2]]))["rows"] == [[None, 1], [None, 2]]
    assert picture(np.array([np.nan, 1.0]))["low"] == [None, 1]
    assert picture(np.zeros(())) is None is picture(np.zeros((0, 3)))
    assert picture(np.zeros((2, 3, 4, 5)))["part"] == "[0, 0, :, :]"


def test_stablehlo_is_read_where_there_are_no_processes(monkeypatch):
    def run(*arguments, **more):
        raise OSError("emscripten does not support processes.")

    monkeypatch.setattr(subprocess, "run", run)
    einsum = STABLEHLO.replace("stablehlo.tanh %20 :", '"stablehlo.einsum"(%20, %20) {einsum_config = "ij,ij->ij"} :')
    assert "stablehlo.einsum" in einsum
    assert "def main" in ask("emit", einsum)["source"]
