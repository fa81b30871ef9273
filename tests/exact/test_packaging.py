"""What is around the package: versions that go together, lowest versions, filters of warnings, texts for citation."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
import warnings
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from numba.core.errors import NumbaDeprecationWarning, NumbaPendingDeprecationWarning

import loynes

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def program(name: str) -> ModuleType:
    """A program of packaging/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- versions ---


def test_lowest_versions_are_those_of_the_project() -> None:
    found = program("lowest").lowest(ROOT / "pyproject.toml")
    assert f"numpy=={re.search('numpy>=([0-9.]+)', str(PROJECT['dependencies']))[1]}" in found  # type: ignore[index]
    assert len(found) == len(PROJECT["dependencies"]) + sum(len(EXTRAS[n]) for n in EXTRAS if n not in ("dev", "gpu"))


def test_a_dependency_without_a_lowest_version_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\ndev = ["x"]\n'
    )
    with pytest.raises(ValueError, match="numpy: must be"):
        program("lowest").lowest(tmp_path / "pyproject.toml")


def test_exact_versions_for_developers() -> None:
    """Of every direct dependency, none below its lowest; and no registry's address."""
    text = (ROOT / "packaging" / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    exact = dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))
    for requirement in (*PROJECT["dependencies"], *(one for n in EXTRAS if n != "gpu" for one in EXTRAS[n])):
        if requirement.startswith("loynes["):
            continue
        name, _, lowest = requirement.partition(">=")
        pinned = exact[name.lower().replace("_", "-")]
        assert numbers(pinned) >= numbers(lowest or "0"), f"{requirement}, but {pinned}"


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def test_a_tag_is_released_only_if_everything_has_its_version() -> None:
    version = program("version")
    assert set(version.versions().values()) == {loynes.__version__}
    wrong = version.problems("v9.9.9")
    assert len(wrong) == len(version.versions()) + 1
    assert "CHANGELOG.md has no heading for 9.9.9" in wrong[-1]
    assert version.problems(f"v{loynes.__version__}") == []


# --- warnings ---


@pytest.mark.parametrize("kind", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_deprecations_are_errors_where_we_use_them(kind: type[Warning]) -> None:
    """And where another library does, they are not."""
    ours, theirs = {"__name__": "loynes.somewhere"}, {"__name__": "dask.somewhere"}
    code = f"import warnings\nwarnings.warn('old', {kind.__name__})"
    with pytest.raises(kind):
        exec(code, ours)
    with warnings.catch_warnings(record=True) as seen:
        exec(code, theirs)
    assert [one.category for one in seen] == [kind]


@pytest.mark.parametrize("kind", [NumbaDeprecationWarning, NumbaPendingDeprecationWarning])
def test_numba_s_are_errors_everywhere(kind: type[Warning]) -> None:
    with pytest.raises(kind):
        warnings.warn("old", kind, stacklevel=1)


# --- texts that others' programs read ---


def test_who_and_what_is_said_alike() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    codemeta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert str(citation["version"]) == codemeta["version"] == loynes.__version__
    assert codemeta["description"] == PROJECT["description"]
    assert PROJECT["license"] in codemeta["license"]
    assert citation["license"] == PROJECT["license"]
    assert [one["name"] for one in PROJECT["authors"]] == [one["name"] for one in citation["authors"]]
    assert [one["name"] for one in codemeta["author"]] == [one["name"] for one in citation["authors"]]
    assert set(codemeta["keywords"]) == set(PROJECT["keywords"])


def test_workflows_try_what_the_project_promises() -> None:
    """Every job ends some day, and each Python that is tried is one that the project names."""
    check = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))["jobs"]
    tried = check["test"]["strategy"]["matrix"]
    assert {os.partition("-")[0] for os in tried["os"]} == {"ubuntu", "macos", "windows"}
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}
    assert set(tried["python"]) <= named
    assert tried["python"][0] == PROJECT["requires-python"].removeprefix(">=")
    assert all("timeout-minutes" in job for job in check.values())
    assert set(check["gathered"]["needs"]) == check.keys() - {"gathered", "build"}


def test_recipes_ask_for_what_the_project_asks_for() -> None:
    """conda's names of some packages differ."""
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    asked = {one.replace(" ", "") for one in recipe["requirements"]["run"]}
    assert asked == {f"python>={PROJECT['requires-python'][2:]}", *PROJECT["dependencies"]}
    assert recipe["context"]["version"] == loynes.__version__


def test_the_paper_cites_what_it_lists_and_shows_what_there_is() -> None:
    folder = ROOT / "paper"
    text = (folder / "paper.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^@\w+\{(\w+),", (folder / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"@(\w+)", text.partition("---\n\n")[2])) == listed
    pictures = re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE)
    assert {path.name for path in folder.glob("*.png")} == set(pictures)
    head = yaml.safe_load(text.split("---")[1])
    assert head["bibliography"] == "paper.bib"
    assert {one["name"] for one in head["authors"]} == {one["name"] for one in PROJECT["authors"]}


def test_forms_and_containers_can_be_read() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert path.name == "config.yml" or {"name", "description", "body"} <= form.keys()
    assert json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))["image"]
    container = (ROOT / "Containerfile").read_text(encoding="utf-8")
    extras = re.search(r"\[([a-z,]+)\]", container)
    assert extras is not None
    assert set(extras[1].split(",")) <= EXTRAS.keys()
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", container, re.MULTILINE)
    assert {name for line in copied for name in line.split()} == {one[1:] for one in ignored if one.startswith("!")}
