"""Mistakes in model files: all of them at once, each with its line, its class, and what may have been meant."""

# ruff: noqa: E501  (what is said is shown as it is said)

from __future__ import annotations

import copy
import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import loynes
from loynes.errors import ModelError
from loynes.model import JobClass, Model, builtin_names, builtin_text, load
from loynes.model.lines import Lines, json_lines, toml_lines
from loynes.model.units import WRITTEN
from loynes.model.yaml_files import read_yaml

HEAD = "servers = 20\n"
ONE = '[[classes]]\nname = "T1"\nneed = 1\nprobability = 1.0\nservice = { law = "exponential", mean = 1 }\n'

WORST = """\
server = 20

[arrivals]
lambda = 1

[[class]]
name = "T1"
needs = 30
prob = 0.5
service = { type = "erlang", k = 0, mean = -1 }

[[class]]
name = "T5"
need = 40
probability = 0.3
service = { law = "lognormal", mean = 4, sd = 2 }

[[class]]
need = 1
mean = 3
probability = 0.3
service = { law = "expo", average = 4 }

[[scenario]]
start = 3
end = 2
lost = "10%"
"""
WORST_SAYS = """\
worst.toml line 1: server: is not a known key; did you mean `servers`?
worst.toml line 4: arrivals.lambda: is not a known key; did you mean `rate`?
worst.toml line 6: class: is not a known key; did you mean `classes`?
worst.toml line 6: classes: probabilities must sum to 1, they sum to 1.1
worst.toml line 8, class 'T1': needs: is not a known key; did you mean `need`?
worst.toml line 8, class 'T1': need = 30: must be at most servers = 20
worst.toml line 9, class 'T1': prob: is not a known key; did you mean `probability`?
worst.toml line 10, class 'T1': service.type: is not a known key; did you mean `law`?
worst.toml line 10, class 'T1': service.mean = -1: must be greater than 0
worst.toml line 10, class 'T1': service.k: is not a known key; did you mean `phases`?
worst.toml line 10, class 'T1': service.phases = 0: must be greater than or equal to 1
worst.toml line 14, class 'T5': need = 40: must be at most servers = 20
worst.toml line 16, class 'T5': service.sd: is not a known key; did you mean `cv`? It is the standard deviation over the mean; here 0.5
worst.toml line 20: classes[2].mean: is not a known key; it belongs in the service: service = { law = ..., mean = ... }
worst.toml line 22: classes[2].service.law = 'expo': must be one of LAWS; did you mean exponential?
worst.toml line 22: classes[2].service.average: is not a known key; did you mean `mean`?
worst.toml line 24: scenario[0]: until = 2: must be after from = 3
worst.toml line 25: scenario[0].start: is not a known key; did you mean `from`?
worst.toml line 26: scenario[0].end: is not a known key; did you mean `until`?
"""


def said_of(text: str, folder: Path, name: str = "mine.toml", changes: tuple[str, ...] = ()) -> list[str]:
    """The lines of the error, each without the folder."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as error:
        load(folder / name, changes)
    return str(error.value).replace(f"{folder}/", "").splitlines()


def test_all_at_once(tmp_path: Path) -> None:
    from loynes.model.laws import LAWS

    said = said_of(WORST, tmp_path, "worst.toml")
    assert said == WORST_SAYS.replace("LAWS", ", ".join(LAWS)).splitlines()


def test_yaml_and_json_have_lines_too(tmp_path: Path) -> None:
    """The same mistakes, found on the lines where these files have them."""
    expected = [line.partition(":")[2] for line in said_of(WORST, tmp_path)]
    document = tomllib.loads(WORST)
    for name, text in (
        ("mine.yaml", yaml.safe_dump(document, sort_keys=False)),
        ("mine.json", json.dumps(document, indent=2)),
    ):
        said = said_of(text, tmp_path, name)
        assert sorted(line.partition(":")[2] for line in said) == sorted(expected)
        needs = next(number for number, line in enumerate(text.splitlines(), 1) if "needs" in line)
        assert f"{name} line {needs}, class 'T1': needs: is not a known key; did you mean `need`?" in said
        header = next(number for number, line in enumerate(text.splitlines(), 1) if "class" in line)
        assert f"{name} line {header}: class: is not a known key; did you mean `classes`?" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # Which keys were meant: near misses, other programs' words, keys that belong elsewhere.
        (HEAD + ONE.replace("need", "ned"), ["mine.toml line 4, class 'T1': ned: is not a known key; did you mean `need`?"]),
        (HEAD + ONE + "size = 2\n", ["line 7, class 'T1': size: is not a known key; did you mean `need`, which is there, too?"]),
        (HEAD + "[arrivals]\nratio = 2\n" + ONE, ["line 3: arrivals.ratio: is not a known key; did you mean `rate`?"]),
        (HEAD + "rate = 2\n" + ONE, ["line 2: rate: is not a known key; it belongs in [arrivals]"]),
        (HEAD + "need = 2\n" + ONE, ["line 2: need: is not a known key; it belongs in a [[classes]] table"]),
        (HEAD + "[arrivals]\ndiscipline = 'fcfs'\n" + ONE, ["line 3: arrivals.discipline: is not a known key; it belongs at the top of the file, above the first [table]"]),
        (HEAD + ONE.replace("mean", "lambda"), ["line 6, class 'T1': service.lambda: is not a known key; did you mean `rate`?"]),
        (HEAD + ONE.replace("law", "distribution"), ["line 6, class 'T1': service.distribution: is not a known key; did you mean `law`?"]),
        (HEAD + ONE.replace('"exponential", mean', '"gamma", k = 2, mean'), ["line 6, class 'T1': service.k: is not a known key; did you mean `shape`?"]),
        (HEAD + ONE.replace('"exponential", mean = 1', '"fit", mean = 2, variance = 9'), ["service.variance: is not a known key; did you mean `cv`? It is the standard deviation over the mean; here 1.5"]),
        (HEAD + ONE.replace("mean = 1", "mean = 2, std = 1"), ["service.std: is not a known key; a law with a standard deviation is { law = 'lognormal', mean = ..., cv = ... }, or 'fit' (here cv = 0.5)"]),
        (HEAD + ONE.replace("mean = 1", "mean = 1, colour = 3"), ["service.colour: is not a known key; there are: law, mean, rate"]),
        (HEAD + ONE + "values = 3\n", ["line 7, class 'T1': values: is not a known key; it belongs in the service: service = { law = ..., values = ... }"]),
        (HEAD + "discipline = 'fifo'\n" + ONE, ["line 2: discipline = 'fifo': must be 'fcfs', 'reserving' or 'random'; did you mean fcfs?"]),
        # A process that is named by another word: its own keys are judged as that process's.
        (HEAD + "arrivals = { type = 'periodic', period = 24, rates = [1, -2] }\n" + ONE,
         ["line 2: arrivals.type: is not a known key; did you mean `process`?", "line 2: arrivals.period: is not a known key; did you mean `cycle`?", "line 2: arrivals.rates[1] = -2: must be greater than or equal to 0"]),
        # What does not fit together comes along with what is wrong by itself.
        (HEAD + ONE + ONE.replace("T1", "T2").replace("need = 1", "need = 21").replace("mean = 1", "mean = 'x'"),
         ["line 2: classes: probabilities must sum to 1, they sum to 2", "line 9, class 'T2': need = 21: must be at most servers = 20", f"line 11, class 'T2': service.mean: 'x': {WRITTEN}"]),
        # Nothing is said of what stands in for a wrong value: needs of a wrong size, shares of a wrong share.
        ("servers = 'many'\n" + ONE.replace("need = 1", "need = 10"), ["line 1: servers = 'many': must be integer"]),
        ("servers = 2\n" + ONE.replace("1.0", "'all'"), ["line 5, class 'T1': probability = 'all': must be number"]),
        (HEAD + "resources = { cpu = 0 }\n" + ONE.replace("= 1\n", "= { cpu = 4 }\n", 1), ["line 2: resources.cpu = 0: must be greater than or equal to 1", "servers and resources: say one of the two"]),
        (HEAD + "arrivals = { process = 'mmpp', mix = [[1]] }\n" + ONE.replace("probability = 1.0\n", ""), ["arrivals.generator: is missing", "arrivals.rates: is missing"]),
        (HEAD + "[[classes]]\n[[classes]]\n" + ONE, ["line 2: classes[0].need: is missing", "line 2: classes[0].service: is missing", "line 3: classes[1].need: is missing", "line 3: classes[1].service: is missing", "line 2: classes[0].probability: is missing", "line 3: classes[1].probability: is missing"]),
        ("", ["classes: is missing", "servers: is missing (or resources = { cpu = 64, gpu = 8 }, or [[nodes]])"]),
        # Lines within lists and tables over several lines.
        (HEAD + ONE.replace('{ law = "exponential", mean = 1 }', '{ law = "hyperexponential", probabilities = [1.0], means = [\n  1, # one\n  "]", 2,\n  -3 ] }'),
         [f"line 8, class 'T1': service.means[1]: ']': {WRITTEN}", "line 9, class 'T1': service.means[3] = -3: must be greater than 0"]),
    ],
)  # fmt: skip
def test_mistakes(text: str, said: list[str], tmp_path: Path) -> None:
    """Every one of them is said, and nothing else."""
    found = said_of(text, tmp_path)
    assert len(found) == len(said), found
    for one in said:
        assert any(line.endswith(one) for line in found), (one, found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("servers=-1",), ["mine.toml with --set servers=-1: servers = -1: must be greater than or equal to 1"]),
        (("clases.T1.need=2",), ["mine.toml with --set clases.T1.need=2: clases: is not a known key; did you mean `classes`, which is there, too?"]),
        (("classes.T1.service={law='normal',mean=1,cv=1}",), ["mine.toml with --set classes.T1.service={law='normal',mean=1,cv=1}, class 'T1': service.law = 'normal': must be one of"]),
        (("classes.T1.need=9", "servers=4"), ["mine.toml with --set classes.T1.need=9, class 'T1': need = 9: must be at most servers = 4"]),
        (("classes.T1.probability=0.5",), ["mine.toml line 2: classes: probabilities must sum to 1, they sum to 0.5 (with --set classes.T1.probability=0.5)"]),
    ],
)  # fmt: skip
def test_a_change_is_named(changes: tuple[str, ...], said: list[str], tmp_path: Path) -> None:
    found = said_of(HEAD + ONE, tmp_path, changes=changes)
    for line, beginning in zip(found, said, strict=True):
        assert line.startswith(beginning)


def test_a_change_elsewhere_is_mentioned(tmp_path: Path) -> None:
    (found,) = said_of(HEAD + ONE.replace("need = 1", "need = 9"), tmp_path, changes=("servers=4",))
    assert found == "mine.toml line 4, class 'T1': need = 9: must be at most servers = 4 (with --set servers=4)"


def test_a_flood_is_cut(tmp_path: Path) -> None:
    text = HEAD + ONE.replace('{ law = "exponential", mean = 1 }', f'{{ law = "empirical", values = {["x"] * 100} }}')
    found = said_of(text, tmp_path)
    assert len(found) == 41
    assert found[-1] == "mine.toml: and 60 more"


JOB: dict[str, Any] = {"need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}
NODES: dict[str, Any] = {"nodes": [{"count": 2, "has": {"cpu": 4}}], "classes": [JOB | {"need": {"cpu": 4}}]}


@pytest.mark.parametrize(
    ("record", "data", "said"),
    [
        (JobClass, JOB | {"tasks": 0}, ["tasks = 0: must be greater than or equal to 1"]),
        (JobClass, JOB | {"tasks": 0, "priority": -4}, ["tasks = 0: must be greater than or equal to 1", "priority = -4: must be greater than or equal to 0"]),
        (JobClass, {"need": 1}, ["service: is missing"]),
        (JobClass, JOB | {"sevrice": 3}, ["sevrice: is not a known key; did you mean `service`, which is there, too?"]),
        (JobClass, JOB | {"mean": 3}, ["mean: is not a known key; it belongs in the service: service = { law = ..., mean = ... }"]),
        (JobClass, JOB | {"service": {"law": "expo", "mean": 1}}, ["service.law = 'expo': must be one of exponential, "]),
        (JobClass, JOB | {"service": {"law": "exponential", "mean": -1}}, ["service.mean = -1: must be greater than 0"]),
        (JobClass, JOB | {"service": 3}, ["service: must be a table"]),
        (loynes.Exponential, {"mean": -1}, ["mean = -1: must be greater than 0"]),
        (loynes.Exponential, {"mean": 1, "rate": 2}, ["give mean or rate, not both"]),
        (loynes.Hyperexponential, {"probabilities": [0.5, 0.4], "means": [1, 2]}, ["probabilities must sum to 1, they sum to 0.9"]),
        (Model, {"servers": 0, "classes": [JOB]}, ["servers = 0: must be greater than or equal to 1"]),
        (Model, {"servers": 4, "classes": []}, ["classes: must have at least one entry"]),
        (Model, {"servers": 4, "classes": [JOB | {"need": 7, "probability": 0.5}]}, ["classes[0].need = 7: must be at most servers = 4", "classes: probabilities must sum to 1, they sum to 0.5"]),
        (Model, {"servers": 4, "classes": [JobClass(**JOB), 3]}, ["classes[1]: must be a table"]),
        (Model, {"servers": 4, "classes": [JOB | {"tasks": 2}]}, ["classes[0].tasks: is for a model with [[nodes]], which this one has none of"]),
        (Model, {"servers": 4, "classes": [JOB], "scenario": [{"from": 3}]}, ["scenario[0]: changes nothing: say rate_factor "]),
        (Model, NODES | {"classes": [JOB | {"need": {"cpu": 5}}]}, ["classes[0].need.cpu = 5: a task runs on one node, and no node has more than 4"]),
        (Model, NODES | {"classes": [JOB | {"need": {"cpu": 1}, "partition": "night"}]}, ["classes[0].partition: no [[nodes]] are of a partition 'night'"]),
        (Model, NODES | {"nodes": [{"count": 0, "has": {"cpu": 4}}]}, ["nodes[0].count = 0: must be greater than or equal to 1"]),
        (Model, NODES | {"quotas": [{"classes": ["need-cpu 4"], "limit": {"cpu": 3}}]}, ["quotas[0]."]),
        (Model, "servers = 4", ["must be a table"]),
    ],
)  # fmt: skip
def test_records_in_python(record: Any, data: Any, said: list[str]) -> None:
    """Made or validated, one by one or within each other: a line a mistake, as of a file, and pydantic's own beneath.

    As a ValueError it may be raised within the validation of something larger, and it travels between processes.
    """
    ways = [lambda: record.model_validate(data), lambda: record(**data)]
    for way in ways[: 1 if isinstance(data, str) else 2]:
        with pytest.raises(ModelError) as error:
            way()
        lines = [line.removeprefix(f"{record.__name__}: ") for line in error.value.lines]
        assert len(lines) == len(said), lines
        assert all(line.startswith(one) for line, one in zip(lines, said, strict=True)), lines
        assert isinstance(error.value, ValueError)
        assert isinstance(error.value.__cause__, ValidationError)
        assert pickle.loads(pickle.dumps(error.value)).lines == error.value.lines


def test_records_stay_as_they_are() -> None:
    model = Model(servers=4, classes=[JobClass(**JOB)])
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.model_copy(update={"name": "other"}).name == "other"
    with pytest.raises(ModelError, match=r"^Model: name: cannot be changed; model_copy\(update={'name': \.\.\.}\)"):
        model.name = "other"  # type: ignore[misc]
    with pytest.raises(ModelError, match=r"^Model: invalid JSON"):
        Model.model_validate_json("{")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("classes[0].need.cpu=5", "need.cpu = 5: a task runs on one node, and no node has more than 4"),
        ("classes[0].tasks=0", "tasks = 0: must be greater than or equal to 1"),
        ("classes[0].priority=-1", "priority = -1: must be greater than or equal to 0"),
        ("classes[0].partition=night", "partition: no [[nodes]] are of a partition 'night'"),
        ("nodes[0].count=0", "count = 0: must be greater than or equal to 1"),
        ('quotas=[{classes=["a"],limit={cpu=3}}]', "quotas[0].limit.cpu = 3: a job of class 'a' needs 4"),
    ],
)  # fmt: skip
def test_set_in_passing(change: str, said: str) -> None:
    model = NODES | {"classes": [NODES["classes"][0] | {"name": "a"}]}
    with pytest.raises(ModelError) as error:
        loynes.load(model, [change])
    (line,) = error.value.lines
    assert f"with --set {change}" in line
    assert said in line


JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    2.5,
    10**7,
    "x",
    "",
    [],
    {},
    [1],
    {"law": "expo"},
    [[]],
    {"a": 1},
    float("nan"),
    [None],
]
KEYS = [
    "needs",
    "sd",
    "k",
    "type",
    "lambda",
    "class",
    "start",
    "law",
    "servers",
    "[key]",
    "number",
    "of",
    "x",
    "",
    "service",
]


# A model with nodes and all that may be said of them.
SHARED = """
placement = "pack"
preemption = "restart"
nodes = [{ name = "a", partition = "p", count = 2, has = { cpu = 8, memory = "64 GB" } }, { count = 1, has = { cpu = 4 } }]
quotas = [{ name = "q", classes = ["one"], limit = { cpu = 8 }, cohort = "c", borrow = { cpu = 2 } }]
classes = [
  { name = "one", tasks = 2, per_node = 1, need = { cpu = 2, memory = "4 GB" }, nodes = ["a"], priority = 3, probability = 0.5, service = { law = "exponential", mean = 1.0 } },
  { name = "two", need = { cpu = 4 }, partition = "p", probability = 0.5, service = { law = "exponential", mean = 1.0 } },
]
"""


@given(st.sampled_from(["", *builtin_names()]), st.randoms(use_true_random=False))
def test_whatever_is_wrong_is_said(name: str, dice: Any) -> None:
    """Values replaced, keys renamed or dropped, at any place: a model, or an error with words, and nothing else."""
    document = tomllib.loads(builtin_text(name) if name else SHARED)
    change = {"rate_factor": 2.0} if name else {"nodes": {"a": 1}, "announced": True}
    document |= {"scenario": [{"from": 1.0, "until": 2.0, **change}]}
    for _ in range(dice.randint(1, 4)):
        place = dice.choice(sorted(places(document), key=str) or [()])
        table: Any = document
        for key in place[:-1]:
            table = table[key]
        if place and dice.random() < 0.5:
            table[place[-1]] = copy.deepcopy(dice.choice(JUNK))
        elif place and isinstance(table, dict):
            value = table.pop(place[-1])
            table |= {dice.choice(KEYS): value} if dice.random() < 0.7 else {}
    said = ["model: it is right"]
    try:
        load(document)
    except ModelError as error:
        said = str(error).splitlines()
    assert said
    assert all(": " in line for line in said)


def test_rates_that_change_on_several_resources() -> None:
    """A scenario that takes no servers away says nothing of any resource."""
    model = load("cpu-gpu-mix", ["scenario=[{from=1, until=2, rate_factor=2.0}]"])
    assert (model.scenario or ())[0].lost_of(model.kinds, model.units) == (0, 0)


# --- lines ---

WORDS = st.text("abAB_-. \"'#[]={},\\\n\té", max_size=4)
VALUES = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), st.floats(-1, 1), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=12,
)


def places(value: Any, place: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {one for key, v in inner for one in {(*place, key)} | places(v, (*place, key))}


def held(lines: Lines, document: Any, text: str) -> None:
    """Every place has a line, in which its key is written, and lines ascend within a list."""
    assert set(lines) == places(document)
    for place, line in lines.items():
        key = place[-1]
        if isinstance(key, str) and key.isidentifier() and key.isascii():
            assert key in text.split("\n")[line - 1]
        elif isinstance(key, int) and key:
            assert line >= lines[(*place[:-1], key - 1)]


@given(st.dictionaries(WORDS, VALUES, max_size=4))
def test_lines_of_any_document(document: dict[str, Any]) -> None:
    toml = tomli_w.dumps(document)
    held(toml_lines(toml, tomllib.loads(toml)), tomllib.loads(toml), toml)
    for indent in (None, 1):
        text = json.dumps(document, indent=indent)
        held(json_lines(text, json.loads(text)), json.loads(text), text)
    text = yaml.safe_dump(document, sort_keys=False)
    data, lines = read_yaml(text)
    assert set(lines) == places(data)


def test_lines_of_a_difficult_file() -> None:
    text = (
        "# [no]\n"  # 1
        'servers = 4 # "x\n'  # 2
        "a.b.c = { x = [1,\n  2, { y = \"]\" }], 'q.r' = 'it' }\n"  # 3, 4
        's = """\nlong "quoted" ]\n"""""\n'  # 5 to 7
        "t = '''\n[[no]]\n'''\n"  # 8 to 10
        "[[classes]]\nneed = 1\n[classes.arrivals]\nrate = 2\n"  # 11 to 14
        '[[classes]]\nservice.law = "fit"\nservice.mean = 3\n'  # 15 to 17
        '[x."y z".w]\nd = 1979-05-27 07:32:00\n'  # 18, 19
    )
    lines = toml_lines(text, tomllib.loads(text))
    for place, line in {
        ("servers",): 2, ("a", "b", "c", "x", 0): 3, ("a", "b", "c", "x", 2, "y"): 4, ("a", "b", "c", "q.r"): 4,
        ("s",): 5, ("t",): 8, ("classes", 0): 11, ("classes", 0, "need"): 12, ("classes", 0, "arrivals", "rate"): 14,
        ("classes", 1): 15, ("classes", 1, "service"): 16, ("classes", 1, "service", "mean"): 17,
        ("x", "y z", "w", "d"): 19,
    }.items():  # fmt: skip
        assert lines[place] == line, place
    for name in builtin_names():
        held(
            toml_lines(builtin_text(name), tomllib.loads(builtin_text(name))),
            tomllib.loads(builtin_text(name)),
            builtin_text(name),
        )


def test_no_line_rather_than_a_wrong_one() -> None:
    """Where the two readings differ, as with a key that JSON has twice, there are no lines."""
    text = '{"a": {"b": 1},\n"a": {"c": 2}}'
    assert json_lines(text, json.loads(text)) == {}
    assert toml_lines("a = 1\n", {"b": 1}) == {}


# --- YAML ---


@pytest.mark.parametrize("name", builtin_names())
def test_every_model_as_yaml(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(load(name).to_dict(), sort_keys=False))
    assert load(path) == load(name)


def test_yaml_is_the_core_schema() -> None:
    """What YAML 1.1 takes for numbers, dates and booleans is text, and 1e-3 a number; tables are merged."""
    data, lines = read_yaml(
        "a: &x {n: 1e-3, c: [1, 2]}\nb:\n  <<: *x\n  c: no\nd: 1:30\ne: 2024-01-01\nf: '1'\ng:\nh: True\ni: 0o10\nj: -.inf\n"
    )
    assert data == {
        "a": {"n": 1e-3, "c": [1, 2]}, "b": {"n": 1e-3, "c": "no"}, "d": "1:30", "e": "2024-01-01", "f": "1",
        "g": None, "h": True, "i": 8, "j": float("-inf"),
    }  # fmt: skip
    assert lines[("b", "c")] == 4
    assert lines[("b", "n")] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "not valid YAML: the key 'a' is there twice (at line 2)"),
        ("a: [1,\n", "not valid YAML: "),
        ("a: &x [*x]\n", "an alias stands for what it is in"),
        ("a: !!python/object:os.system x\n", "tags such as !!python/object:os.system are not read (at line 1)"),
        ("? [1, 2]\n: 3\n", "a key must be a word"),
        ("- 1\n", "the top level must be a table"),
        ("", "the top level must be a table"),
        ("--- {}\n--- {}\n", "not valid YAML: "),
        ("a: &x 1\nb:\n  <<: *x\n", "only tables can be merged"),
    ],
)
def test_bad_yaml(text: str, said: str, tmp_path: Path) -> None:
    assert said in said_of(text, tmp_path, "mine.yaml")[0]


def test_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "yaml", None)
    assert "pip install 'loynes[yaml]'" in said_of("servers: 3\n", tmp_path, "mine.yaml")[0]
