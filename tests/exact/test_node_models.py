"""Models with nodes: what files may say, what is wrong with others, and what the pooled cluster is."""

# ruff: noqa: E501  (what is said is shown as it is said)

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import loynes
from loynes.errors import ModelError, UsageError
from loynes.model import load
from loynes.model.sizes import BYTES, Size, size_of
from loynes.questions.answering.nodes import layout_of, rules_of

NODES = """\
[[nodes]]
name = "gpu"
partition = "fast"
count = 4
has = { cpu = 64, gpu = 8, memory = "512 GB" }
[[nodes]]
name = "big"
partition = ["fast", "slow"]
count = 2
has = { cpu = 128, memory = "2 TB" }
"""
CLASSES = """\
[[classes]]
name = "train"
tasks = 2
per_node = 1
need = { cpu = 16, gpu = 4, memory = "96 GB" }
nodes = "gpu"
priority = 5
probability = 0.25
service = { law = "exponential", mean = 2 }
[[classes]]
name = "prepare"
need = { cpu = 32, memory = "0.5 TB" }
partition = ["slow"]
probability = 0.75
service = { law = "exponential", mean = 1 }
"""
QUOTAS = """\
[[quotas]]
name = "research"
classes = ["train"]
limit = { gpu = 16 }
cohort = "all"
borrow = { gpu = 4 }
[[quotas]]
classes = ["prepare"]
limit = { gpu = 8, memory = "1 TB" }
cohort = "all"
"""
SCENARIO = """\
[[scenario]]
from = 10
until = 12
nodes = { gpu = 2 }
announced = true
"""
TEXT = 'placement = "spread"\npreemption = "resume"\n' + NODES + CLASSES + QUOTAS + SCENARIO


def model_of(text: str) -> loynes.Model:
    return load(tomllib.loads(text))


def test_a_file_is_read_as_it_says() -> None:
    model = model_of(TEXT)
    assert model.kinds == ("cpu", "gpu", "memory")
    # 512 GB, 2 TB, 96 GB, 0.5 TB and 1 TB are whole multiples of 4 GB, and of nothing larger.
    assert model.unit_sizes == (1, 1, 4 * 10**9)
    assert model.units == (4 * 64 + 2 * 128, 32, 4 * 128 + 2 * 500)
    assert [model.demand(c) for c in model.classes] == [(32, 8, 48), (32, 0, 125)]
    assert model.classes[0].need_text == "2 x cpu 16 gpu 4 memory 96 GB"
    layout, rules = layout_of(model), rules_of(model)
    assert layout is not None
    assert layout.capacity.tolist() == [[64, 8, 128]] * 4 + [[128, 0, 500]] * 2
    assert layout.group.tolist() == [0, 0, 0, 0, 1, 1]
    assert layout.task_need.tolist() == [[16, 4, 24], [32, 0, 125]]
    assert layout.allowed.tolist() == [[1, 0], [0, 1]]
    assert (layout.tasks.tolist(), layout.per_node.tolist(), layout.placement) == ([2, 1], [1, 0], 1)
    assert rules is not None
    assert (rules.priority.tolist(), rules.preemption, rules.holder.tolist()) == ([5, 0], 2, [0, 1])
    assert rules.quota.tolist() == [[-1, 16, -1], [-1, 8, 250]]
    assert rules.borrow.tolist() == [[-1, 4, -1], [-1, -1, -1]]
    assert rules.cohort.tolist() == [0, 0]


def test_round_trips(tmp_path: Path) -> None:
    """TOML, JSON and YAML of a model read back equal, and so does a result that holds it."""
    model = model_of(TEXT).model_copy(update={"name": "mine"})
    (tmp_path / "mine.toml").write_text(model.to_toml())
    (tmp_path / "mine.json").write_text(model.to_json())
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(model.to_dict()))
    loynes.check(model).save(tmp_path / "check.json")
    for name in ("mine.toml", "mine.json", "mine.yaml", "check.json"):
        assert load(tmp_path / name) == model
        assert load(tmp_path / name).hash == model.hash
    checked = json.loads((tmp_path / "check.json").read_text())
    assert checked["classes"]["train"]["need"]["memory"] == "96 GB"
    assert checked["classes"]["train"]["tasks"] == 2


def test_python_says_the_same() -> None:
    train = loynes.JobClass(
        name="train", tasks=2, need={"gpu": 4, "memory": "64 GiB"}, probability=1, priority=3,
        service=loynes.Exponential(mean=1),
    )  # fmt: skip
    nodes = loynes.Nodes(count=2, has={"gpu": 8, "memory": "1 TiB"})
    model = loynes.Model(nodes=[nodes], classes=[train], quotas=[loynes.Quota(classes="train", limit={"gpu": 8})])
    assert load(model.to_dict()) == model
    assert model.units == (16, 32)
    assert (train.tasks, train.priority) == (2, 3)


def test_hash_tells_them_apart() -> None:
    """Every key of nodes and rules is content; a default that is written out is not."""
    base = model_of(TEXT)
    changes = (
        "nodes.gpu.count=5", "nodes.big.has.cpu=256", 'placement="pack"', 'preemption="never"', "classes.train.tasks=1",
        "classes.train.per_node=2", "classes.train.priority=6", "quotas.research.limit.gpu=12", "scenario[0].announced=false",
        "scenario[0].nodes.gpu=1",
    )  # fmt: skip
    hashes = {load(base, [change]).hash for change in changes}
    assert len(hashes | {base.hash}) == 1 + len(changes)
    assert load(base, ["classes.prepare.tasks=1"]).hash != ""


def test_the_pooled_cluster_has_all_units_and_no_rules() -> None:
    model = model_of(TEXT)
    pooled = model.pooled
    assert (pooled.kinds, pooled.units) == (model.kinds, model.units)
    assert [pooled.demand(c) for c in pooled.classes] == [model.demand(c) for c in model.classes]
    assert pooled.nodes is None
    assert not pooled.has_rules
    assert pooled.ideal == model.ideal
    assert pooled.pooled is pooled


def test_answers_of_the_pooled_cluster_say_so() -> None:
    """What is not answered event by event is that of the pooled model, to the last digit; priorities are refused."""
    model = load({"nodes": [{"count": 2, "has": {"gpu": 4, "memory": "8 GB"}}], "classes": [
        {"name": "a", "tasks": 2, "need": {"gpu": 2, "memory": "4 GB"}, "probability": 0.5,
         "service": {"law": "exponential", "mean": 1}},
        {"name": "b", "need": {"gpu": 1}, "probability": 0.5, "service": {"law": "exponential", "mean": 1}},
    ]})  # fmt: skip
    with pytest.warns(loynes.LoynesWarning, match=r"nodes are left out|memory in units of 4 GB"):
        found = loynes.exact(model, load=0.5)
    expected = loynes.exact(model.pooled, load=0.5)
    assert (found.threshold, found.overall) == (expected.threshold, expected.overall)
    assert "nodes are left out" in found.warnings[0]
    with pytest.raises(UsageError, match=r"priorities: .*simulate has priorities"):
        loynes.exact(model_of(NODES + CLASSES))
    plain = {"servers": 2, "arrivals": {"rate": 0.5}, "classes": [
        {"name": "a", "need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}
    ]}  # fmt: skip
    limited = plain | {"quotas": [{"classes": ["a"], "limit": 1}]}
    with pytest.warns(loynes.LoynesWarning, match="quotas are left out"):
        assert loynes.exact(limited).overall == loynes.exact(plain).overall


def with_one(change: str, by: str) -> str:
    assert change in TEXT
    return TEXT.replace(change, by, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_one("gpu = 4, memory", "gpu = 9, memory"), "class 'train': need.gpu = 9: a task runs on one node, and no node that it may run on has more than 8"),
        (with_one('nodes = "gpu"\n', "").replace("cpu = 16, gpu = 4", "cpu = 100, gpu = 4"), "class 'train': need: a task runs on one node, and no node has cpu 100 gpu 4 memory 96 GB together"),
        (with_one("tasks = 2", "tasks = 5"), "class 'train': tasks = 5: only 4 fit on all nodes at once with per_node = 1"),
        (with_one("tasks = 2", "tasks = 0"), "class 'train': tasks = 0: must be greater than or equal to 1"),
        (with_one("per_node = 1", "per_node = 0"), "class 'train': per_node = 0: must be greater than or equal to 1"),
        (with_one("priority = 5", "priority = -1"), "class 'train': priority = -1: must be greater than or equal to 0"),
        (with_one("per_node = 1", f"per_node = {10**20}"), f"class 'train': per_node = {10**20}: must be less than or equal to 1000000"),
        (with_one("priority = 5", f"priority = {10**20}"), f"class 'train': priority = {10**20}: must be less than or equal to 4294967295"),
        (with_one("limit = { gpu = 16 }", "limit = {}"), "quotas[0].limit: limits nothing: say of which resource, { cpu = 8 }"),
        (with_one("nodes = { gpu = 2 }", 'lost = "101%"'), "scenario[0]: lost = '101%': must be at most 100%"),
        (with_one("count = 4", "count = 0"), "nodes 'gpu': nodes[0].count = 0: must be greater than or equal to 1"),
        (with_one('nodes = "gpu"', 'nodes = "gpus"'), "class 'train': nodes: no [[nodes]] are called 'gpus'; did you mean gpu?"),
        (with_one('nodes = "gpu"', "nodes = 2"), "class 'train': nodes: 2: must be names of [[nodes]] to run on; how many a job takes is `need`, or `tasks`"),
        (with_one('["slow"]', '["night"]'), "class 'prepare': partition: no [[nodes]] are of a partition 'night'; there are: fast, slow"),
        (with_one('name = "big"', 'name = "gpu"'), "nodes: names must differ, 'gpu' is used twice"),
        ("servers = 4\n" + TEXT, "servers and nodes: say one of the two; nodes say what there is"),
        ("nodes = 16\n" + CLASSES, "nodes: 16: must be [[nodes]] tables with count and has; nodes taken whole are servers = 16"),
        (with_one('"spread"', '"best-fit"'), "placement = 'best-fit': must be 'pack', 'spread' or 'first-fit'; did you mean pack?"),
        (with_one("priority = 5\n", ""), "preemption = 'resume': means nothing where all classes have the same priority"),
        (with_one("limit = { gpu = 16 }\ncohort = \"all\"\nborrow = { gpu = 4 }", "limit = { gpu = 7 }"), "quotas[0].limit.gpu = 7: a job of class 'train' needs 8"),
        (with_one("limit = { gpu = 16 }", "limit = { gpu = 3 }"), "quotas[0].limit.gpu = 3, with all it can borrow 7: a job of class 'train' needs 8"),
        (with_one('memory = "1 TB" }\ncohort = "all"', 'memory = "0.4 TB" }'), "quotas[1].limit.memory = 400 GB: a job of class 'prepare' needs 500 GB"),
        (with_one("limit = { gpu = 16 }", "limit = 16"), "quotas[0].limit = 16: must say of which resource: { cpu = 16 }"),
        (with_one("limit = { gpu = 16 }", "limit = { gpus = 16 }"), "quotas[0].limit.gpus: no such resource; there are: cpu, gpu, memory"),
        (with_one('cohort = "all"\n', ""), "quotas[0].borrow: needs a cohort to borrow from"),
        (with_one('classes = ["prepare"]', 'classes = ["train"]'), "quotas[1].classes: 'train' is in quotas[0], too; a class has one quota"),
        (with_one('classes = ["prepare"]', 'classes = ["prepar"]'), "quotas[1].classes: no class is called 'prepar'; did you mean prepare?"),
        (with_one('"96 GB"', "96"), "class 'train': need.memory = 96: must have a unit, as nodes[0].has.memory = 512 GB has"),
        (with_one('"96 GB"', '"96 GX"'), "class 'train': need.memory: '96 GX': no unit of memory; there are B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB"),
        (with_one('"96 GB"', '"0.3 B"'), "class 'train': need.memory: '0.3 B': must be a whole number of bytes, at most 8 PiB"),
        (with_one("nodes = { gpu = 2 }", "nodes = 2"), "scenario[0].nodes = 2: must say of which: { gpu = 2 }"),
        (with_one("nodes = { gpu = 2 }", "nodes = { gpu = 5 }"), "scenario: at time 10 5 gpu are lost, of 4"),
        (with_one("nodes = { gpu = 2 }", "lost = { gpu = 8 }"), "scenario[0].lost: nodes are lost whole: say how many, nodes = 2, or lost = '10%' of them"),
        (with_one("until = 12\nnodes = { gpu = 2 }", "nodes = { gpu = 3 }"), "scenario: leaves too few nodes for ever for a job of class 'train'"),
        (with_one("nodes = { gpu = 2 }", "rate_factor = 2"), "scenario[0]: announced: means nothing where nothing is lost"),
        (with_one("has = { cpu = 64", "have = { cpu = 64"), "nodes[0].have: is not a known key; did you mean `has`?"),
        (with_one("limit = { gpu = 16 }", "quota = { gpu = 16 }"), "quotas[0].quota: is not a known key; did you mean `limit`?"),
        (with_one("tasks = 2", "workers = 2"), "workers: is not a known key; did you mean `tasks`?"),
    ],
)  # fmt: skip
def test_mistakes(text: str, said: str, tmp_path: Path) -> None:
    """One line, that ends with this; `mistakes` that come of it are not said."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ModelError) as error:
        load(tmp_path / "mine.toml")
    lines = str(error.value).splitlines()
    assert len(lines) == 1, lines
    assert lines[0].endswith(said), lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('tasks = 2\n', "tasks: is for a model with [[nodes]], which this one has none of"),
        ('partition = "fast"\n', "partition: is for a model with [[nodes]], which this one has none of"),
        ("priority = -2\n", "priority = -2: must be greater than or equal to 0"),
        ('\n[[quotas]]\nclasses = ["a"]\nlimit = 1\n', "quotas[0].limit = 1: a job of class 'a' needs 2"),
        ('\n[[scenario]]\nfrom = 1\nnodes = 2\n', "scenario[0].nodes: is for a model with [[nodes]]; here servers are `lost`"),
    ],
)  # fmt: skip
def test_mistakes_without_nodes(text: str, said: str, tmp_path: Path) -> None:
    head = (
        'servers = 4\n[[classes]]\nname = "a"\nneed = 2\nprobability = 1\nservice = { law = "exponential", mean = 1 }\n'
    )
    (tmp_path / "mine.toml").write_text(head + text)
    with pytest.raises(ModelError) as error:
        load(tmp_path / "mine.toml")
    assert str(error.value).endswith(said)


@given(st.integers(1, 2**53), st.sampled_from(sorted(BYTES)))
def test_sizes_are_exact(number: int, unit: str) -> None:
    """What a size is shown as reads back to the same bytes."""
    size = Size(number)
    assert size_of(str(size)) == size
    assert size_of(f"{number} B") == number
    few = min(number, 2**53 // BYTES[unit])
    assert size_of(f"{few}{unit.lower()}") == few * BYTES[unit]


def test_words_that_are_no_sizes() -> None:
    assert size_of("many") is None
    assert size_of("12") is None
    assert size_of("64Gi") == 64 * 2**30
    assert str(Size(512 * 10**9)) == "512 GB"
    assert str(Size(0)) == "0 B"
    with pytest.raises(ValueError, match="64G"):
        size_of("64G")
