"""Model files: round trips, hashes, names, and errors that name the field, each in a line."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given

import loynes
from loynes.errors import ModelError
from loynes.model import JobClass, Model, builtin_names, load
from loynes.model.laws import Exponential
from support import LAWS, models

GOOD: dict[str, Any] = {"servers": 20, "classes": [{"need": 1, "probability": 1.0, "service": LAWS["exponential"]}]}


def with_class(**changes: Any) -> dict[str, Any]:
    return GOOD | {"classes": [GOOD["classes"][0] | changes]}


@given(models())
def test_round_trips(model: Model) -> None:
    assert load(tomllib.loads(model.to_toml())) == model
    assert load(json.loads(model.to_json())) == model
    assert load(model.to_dict()).hash == model.hash


@pytest.mark.parametrize("name", builtin_names())
def test_builtins(name: str, tmp_path: Any) -> None:
    model = load(name)
    assert model.label == name
    assert model.description
    path = tmp_path / "again.toml"
    path.write_text(model.to_toml())
    assert load(path) == model


def test_hash_is_of_the_content() -> None:
    model = load("one-or-all")
    assert load("one-or-all", ["name='other'"]).hash == model.hash == "ee8335443b480253"
    assert load("one-or-all", ["servers=257"]).hash != model.hash
    assert model.with_rate(2.0).hash != model.hash


def test_frozen() -> None:
    with pytest.raises(Exception, match="cannot be changed"):
        load(GOOD).servers = 3


def test_python_classes() -> None:
    model = Model(servers=20, classes=[JobClass(need=1, probability=1, service=Exponential(mean=0.5))])
    assert model.classes[0].name == "need-1"
    assert model.ideal == 40


def test_unnamed_classes_get_names() -> None:
    half = {"need": 2, "probability": 0.5, "service": LAWS["exponential"]}
    assert [c.name for c in load({"servers": 3, "classes": [half, half]}).classes] == ["need-2", "need-2-2"]


def test_changes() -> None:
    model = load("five-class-exponential", ["classes.T1.service.mean=0.7", "arrivals.rate=1", "classes[4].need=16"])
    assert model.classes[0].service.mean == 0.7
    assert model.rate == 1
    assert model.classes[4].need == 16


def test_a_saved_result_is_its_model(tmp_path: Any) -> None:
    """Whatever a command wrote as JSON can be asked about again, and changed on the way."""
    named = load("five-class-exponential", ["arrivals.rate=1.2"])
    nameless = load({"servers": 2, "classes": [{"need": 1, "probability": 1, "service": LAWS["uniform"]}]})
    for model, name in ((named, "five-class-exponential"), (nameless, "found")):
        loynes.check(model).save(tmp_path / "found.json")
        assert load(tmp_path / "found.json") == model.model_copy(update={"name": name})
    loynes.check(named).save(tmp_path / "found.json")
    assert load(tmp_path / "found.json", ["classes.T2.need=3"]).classes[1].need == 3
    for wrong in (
        {"command": "check"},
        {"command": "check", "model": {"definition": 3}},
        {"model": {"definition": {}}},
    ):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(ModelError, match=r"wrong.json: "):
            load(tmp_path / "wrong.json")


def test_schema_describes_the_file() -> None:
    schema = Model.model_json_schema()
    assert set(schema["properties"]) == {
        "time_unit",
        "name",
        "description",
        "servers",
        "resources",
        "nodes",
        "placement",
        "preemption",
        "quotas",
        "discipline",
        "scenario",
        "arrivals",
        "classes",
    }
    assert set(schema["$defs"]["JobClass"]["properties"]) == {
        "name",
        "need",
        "specific",
        "tasks",
        "per_node",
        "nodes",
        "partition",
        "priority",
        "probability",
        "arrivals",
        "service",
    }


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (GOOD | {"servers": 0}, "servers = 0: must be greater than or equal to 1"),
        (GOOD | {"servers": 2.5}, "servers = 2.5: must be integer"),
        (GOOD | {"servers": True}, "servers = True: must be integer"),
        (GOOD | {"servers": 10**9}, "servers = 1000000000: must be less than or equal to 1000000"),
        (GOOD | {"classes": []}, "classes: must have at least one entry"),
        (GOOD | {"classes": 3}, "classes = 3: must be a list"),
        ({"servers": 3}, "classes: is missing"),
        (GOOD | {"server": 3}, "server: is not a known key"),
        (with_class(need=21), "classes[0].need = 21: must be at most servers = 20"),
        (with_class(need=0), "classes[0].need: must ask for at least one"),
        (with_class(probability=0.5), "classes: probabilities must sum to 1, they sum to 0.5"),
        (with_class(probability=1 + 2e-9), "classes[0].probability = 1.000000002: must be less than or equal to 1"),
        (with_class(probability="all"), "classes[0].probability = 'all': must be number"),
        (with_class(service={"law": "expo", "mean": 1}), "classes[0].service.law = 'expo': must be one of exponential"),
        (with_class(service={"mean": 1.0}), "classes[0].service.law: is missing"),
        (with_class(service={"law": "exponential"}), "classes[0].service.mean: is missing"),
        (with_class(service={"law": "exponential", "mean": -1}), "classes[0].service.mean = -1: must be greater"),
        (with_class(service={"law": "exponential", "mean": float("inf")}), "service.mean = inf: must be finite"),
        (with_class(service={"law": "exponential", "rate": 0}), "classes[0].service: rate = 0 must be a finite number"),
        (with_class(service={"law": "exponential", "mean": 1, "rate": 1}), "give mean or rate, not both"),
        (with_class(service={"law": "exponential", "mean": 1, "scale": 1}), "classes[0].service.scale: is not a known"),
        (with_class(service={"law": "pareto", "shape": 1.0, "mean": 1}), "service.shape = 1.0: must be greater than 1"),
        (with_class(service={"law": "uniform", "low": 2, "high": 1}), "low = 2 must be below high = 1"),
        (
            with_class(service={"law": "hyperexponential", "probabilities": [0.5, 0.4], "means": [1, 2]}),
            "probabilities must sum to 1, they sum to 0.9",
        ),
        (
            with_class(service={"law": "mixture", "weights": [1], "laws": [{"law": "erlang", "phases": 0, "mean": 1}]}),
            "classes[0].service.laws[0].phases = 0: must be greater",
        ),
        (GOOD | {"arrivals": {"process": "mmpp"}}, "arrivals.generator: is missing"),
        (GOOD | {"arrivals": {"rate": -1}}, "arrivals.rate = -1: must be greater than 0"),
    ],
)  # fmt: skip
def test_bad_models(document: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as error:
        load(document)
    text = str(error.value)
    assert said in text
    assert all(line.startswith("model: ") for line in text.splitlines())


def test_two_names_alike() -> None:
    half = {"name": "a", "need": 2, "probability": 0.5, "service": LAWS["exponential"]}
    with pytest.raises(ModelError, match="names must differ, 'a' is used twice"):
        load({"servers": 3, "classes": [half, half]})


def test_bad_files(tmp_path: Any) -> None:
    for name, content, said in (
        ("a.toml", b"servers = ", "a.toml: not valid TOML"),
        ("a.json", b"{", "a.json: not valid JSON"),
        ("b.json", b"[]", "top level must be a table"),
        ("a.bin", b"\xff\xfe\x00", "not a text file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=said):
            load(tmp_path / name)
    with pytest.raises(ModelError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(ModelError, match="no such file, and no built-in model"):
        load("nowhere")


@pytest.mark.parametrize("change", ["classes", "=3", "classes.T7.need=1", "servers.x=1", "classes[9].need=1"])
def test_bad_changes(change: str) -> None:
    with pytest.raises(ModelError, match="--set"):
        load("five-class-exponential", [change])
