"""Models with several resources: what is read, what is refused, and by which name."""

from __future__ import annotations

from typing import Any

import pytest

import loynes
from loynes.errors import ModelError, UsageError
from loynes.model import Model, builtin_names, load
from support import LAWS

SERVICE = LAWS["exponential"]


def one_class(**asked: Any) -> dict[str, Any]:
    return {"resources": {"cpu": 64, "gpu": 8}, "classes": [asked | {"probability": 1.0, "service": SERVICE}]}


def plain_class(**asked: Any) -> dict[str, Any]:
    return {"servers": 5, "classes": [asked | {"probability": 1.0, "service": SERVICE}]}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (one_class(need={"tpu": 1}), "classes[0].need.tpu: no such resource; there are: cpu, gpu"),
        (one_class(need={"gpu": 9}), "classes[0].need.gpu = 9: must be at most resources.gpu = 8"),
        (one_class(need={"cpu": 0}), "classes[0].need: must ask for at least one"),
        (one_class(need={}), "classes[0].need: must ask for at least one"),
        (one_class(need=3), "classes[0].need = 3: must say of which resource: { cpu = 3 }"),
        (one_class(need={"gpu": 5}, specific={"gpu": 4}), "classes[0].need.gpu + specific = 9: must be at most"),
        (one_class(need={"gpu": 1}, specific={"tpu": 1}), "classes[0].specific.tpu: no such resource"),
        (one_class(need={"gpu": -1}), "classes[0].need.gpu = -1: must be greater than or equal to 0"),
        (one_class(need={"gpu": 1.5}), "classes[0].need.gpu = 1.5: must be integer"),
        (one_class(need="all"), "classes[0].need = 'all': must be integer"),
        (plain_class(need={"cpu": 1}), "classes[0].need.cpu: no such resource; there are: none, only servers"),
        (plain_class(need=3, specific=3), "classes[0].need + specific = 6: must be at most servers = 5"),
        (plain_class(need=1, specific=-1), "classes[0].specific = -1: must be"),
        (plain_class(need=1) | {"resources": {"cpu": 1}}, "servers and resources: say one of the two"),
        (plain_class(need=1) | {"discipline": "lifo"}, "discipline = 'lifo': must be"),
        (one_class(need={"cpu": 1}) | {"resources": {"cpu": 0}}, "resources.cpu = 0: must be greater than"),
        (one_class(need={"cpu": 1}) | {"resources": {}}, "resources"),
        (one_class(need={"a": 1}) | {"resources": {"a": 10**6, "b": 1}}, "1000001 units in all"),
    ],
)
def test_bad_ones(document: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as error:
        load(document)
    assert said in str(error.value)


def test_read_back() -> None:
    """Through TOML, JSON and plain data; the hash is of the content."""
    import tomllib

    model = load(one_class(need={"cpu": 4, "gpu": 1}, specific={"gpu": 2}) | {"discipline": "reserving", "name": "m"})
    assert load(model.to_dict()) == model
    assert load(tomllib.loads(model.to_toml())).hash == model.hash
    assert model.kinds == ("cpu", "gpu")
    assert model.units == (64, 8)
    assert model.servers == 72
    assert model.classes[0].need_text == "cpu 4 gpu 1 gpu 2s"
    assert not model.plain
    assert model.with_discipline("fcfs").hash != model.hash
    assert {model: 1}[load(model.to_dict())] == 1


def test_bottleneck() -> None:
    model = load("cpu-gpu-mix")
    assert model.kinds[model.bottleneck] == "gpu"
    assert model.ideal == pytest.approx(16 / 1.8)
    more = load("cpu-gpu-mix", ["resources.gpu=600"])
    assert more.kinds[more.bottleneck] == "cpu"
    assert loynes.check(more).to_dict()["bottleneck"] == "cpu"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"servers": 1, "classes": [{"need": 1}]}, "Lindley"),
        ({"servers": 4, "classes": [{"need": 1}]}, "Kiefer and Wolfowitz"),
        ({"servers": 4, "classes": [{"need": 4}]}, "every job needs all servers: Lindley"),
        ({"resources": {"cpu": 4}, "classes": [{"need": 2}]}, "one resource: the plain model"),
        ({"servers": 4, "classes": [{"need": 2}]}, None),
    ],
)
def test_special_cases_are_said(document: dict[str, Any], said: str | None) -> None:
    document["classes"][0] |= {"probability": 1.0, "service": SERVICE}
    found = loynes.check(document).to_dict()["special_case"]
    assert found is None if said is None else said in found


def test_one_resource_gives_the_plain_model_s_numbers() -> None:
    plain = load("five-class-exponential")
    document: dict[str, Any] = plain.to_dict()
    document["resources"] = {"cpu": document.pop("servers")}
    for job_class in document["classes"]:
        job_class["need"] = {"cpu": job_class["need"]}
    one: Model = load(document)
    ours, theirs = (loynes.evaluate(m, rate=1.2, precision=0.05) for m in (one, plain))
    assert ours.overall == theirs.overall
    assert ours.system.resources["cpu"].hol_loss == theirs.system.hol_loss
    assert loynes.stability(one).threshold == loynes.stability(plain).threshold
    assert loynes.exact(one).threshold == loynes.exact(plain).threshold


def test_exact_answers_know_their_limits() -> None:
    own = load(plain_class(need=1, specific=1))
    with pytest.raises(UsageError, match="not specific ones"):
        loynes.exact(own)
    with pytest.raises(UsageError, match="discipline 'fcfs', not 'reserving'"):
        loynes.exact(load("cpu-gpu-mix").with_discipline("reserving"))
    with pytest.raises(UsageError, match="would have"):
        loynes.exact("cpu-memory-mix")


def test_every_built_in_model_is_described() -> None:
    for name in builtin_names():
        assert load(name).description, name
