"""The paper authors' own input files are read as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from loynes.errors import ModelError
from loynes.model import load

SIZES = ((1, 0.5), (2, 0.1), (5, 0.2), (10, 0.19), (15, 0.01))
MJSRE = {
    "synth_20_exp.txt": ("five-class-exponential", ((0.5,), (0.83,), (1.25,), (3.33,), (10.0,))),
    "synth_20_erlk.txt": ("five-class-erlang", ((0.5, 3), (0.83, 3), (1.25, 3), (3.33, 3), (10.0, 3))),
    "synth_20_bpar.txt": (
        "five-class-pareto",
        tuple((low, 400, 1.4) for low in (0.1492, 0.250222, 0.380669, 1.04846, 3.34773)),
    ),
    "mine_20_hyperexp.txt": (
        "five-class-hyperexponential",
        tuple((m, n, 0.01) for m, n in
              ((25.0, 0.252525), (41.5, 0.419192), (62.5, 0.631313), (166.5, 1.681818), (500.0, 5.050505))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MJSRE)
def test_mjsre(name: str, tmp_path: Path) -> None:
    builtin, parameters = MJSRE[name]
    lines = [str((*size, *rest)) for size, rest in zip(SIZES, parameters, strict=True)]
    (tmp_path / name).write_text("\n".join(lines))
    assert load(tmp_path / name).hash == load(builtin).hash


MJQM = """
identifier = "four"
events = 100000
repetitions = 20
cores = 16
policy = "smash"
smash.window = 1
arrival.distribution = "exponential"
arrival.rate = 0.1
service.distribution = "exponential"
service.mean = 2

[[class]]
cores = 1
arrival.prob = 0.8

[[class]]
cores = 4
name = "big"
arrival.prob = 0.8
service = { distribution = "bounded pareto", alpha = 1.5, L = 1, H = 10 }
"""


def read(text: str, folder: Path):
    (folder / "settings.toml").write_text(text)
    return load(folder / "settings.toml")


def test_mjqm(tmp_path: Path) -> None:
    model = read(MJQM, tmp_path)
    assert (model.name, model.servers, model.rate) == ("four", 16, 0.1)
    assert [(c.name, c.need, c.probability) for c in model.classes] == [("1", 1, 0.5), ("big", 4, 0.5)]
    assert model.classes[0].service.mean == 2
    assert model.classes[1].service.law == "bounded_pareto"


def test_mjqm_rates_per_class(tmp_path: Path) -> None:
    text = MJQM.replace("arrival.rate = 0.1\n", "").replace("arrival.prob = 0.8", "arrival.lambda = 0.3", 1)
    model = read(text.replace("arrival.prob = 0.8", "arrival.lambda = 0.1"), tmp_path)
    assert model.rate == pytest.approx(0.4)
    assert [c.probability for c in model.classes] == pytest.approx([0.75, 0.25])


def test_mjqm_numbered_classes_and_pivots(tmp_path: Path) -> None:
    text = (
        MJQM.replace("arrival.rate = 0.1\n", "")
        .replace("[[class]]", "[class.one]", 1)
        .replace("[[class]]", "[class.two]")
    )
    assert read(text + "\n[[pivot]]\narrival.rate = [0.1, 0.2]\n", tmp_path).rate is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a_20.txt", "(1, 0.5, 1, 2, 0.5)", "end the file's name in _bpar or _hyperexp"),
        ("a_20_exp.txt", "(1, 0.5, 1, 2)", "parameters [1.0, 2.0] do not fit exp"),
        ("a_20_exp.txt", "(1, 1, 1)\n(2, 0.5", "line 2: must be (size, probability"),
        ("a_20_exp.txt", "(1.5, 1, 1)", "must be a whole number"),
        ("plain_exp.txt", "(1, 1, 1)", "servers: is missing"),
        ("a.toml", MJQM.replace('"bounded pareto"', '"frechet"'), "class[1].service.distribution = 'frechet': must be"),
        ("a.toml", MJQM.replace("arrival.rate = 0.1", "arrival.rate = -1"), "arrival.rate = -1: must be a number"),
        ("a.toml", MJQM.replace('"exponential"\narrival.rate', '"uniform"\narrival.rate'), "must be 'exponential'"),
        ("a.toml", MJQM.replace("cores = 4", ""), "class[1].cores: is missing"),
        ("a.toml", MJQM.replace("cores = 4", "cores = 40"), "class 'big': need = 40: must be at most servers = 16"),
    ],
)
def test_bad_ones(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError) as error:
        load(tmp_path / name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
