"""Odd command lines and odd models, and what holds of any of them: who types nonsense is told so in a line.

Commands and options come from the program itself, so one that is added is tried, too. Runs are in this process: a
thousand of them take as long as twenty that begin anew.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import strategies as st
from typer.main import get_command

from loynes.cli.app import app, main
from loynes.errors import LoynesWarning
from loynes.questions.asking.options import reader_of
from loynes.questions.asking.question import Question, option_of
from loynes.questions.asking.register import load_all

try:
    import resource
except ImportError:  # Windows has none: there memory is not watched
    resource = None  # type: ignore[assignment]

# The codes of docs/commands.md: done, objectives not met, bad input, unstable, interrupted.
DONE, UNMET, BAD, UNSTABLE, INTERRUPTED = 0, 1, 2, 3, 130
CODES = {DONE, UNMET, BAD, UNSTABLE, INTERRUPTED}
# Seconds of processor time that a command line may take here, where kernels may have to be compiled, and what its
# arrays may take.
MOST_SECONDS, MOST_BYTES = 60, 4 << 30
# What a terminal obeys instead of showing it.
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

SERVICE = {"law": "exponential", "mean": 1.0}
MODEL: dict[str, Any] = {
    "servers": 4,
    "time_unit": "minutes",
    "arrivals": {"process": "poisson", "rate": 1.0},
    "classes": [
        {"name": "one", "need": 1, "probability": 0.7, "service": SERVICE},
        {"name": "two", "need": 2, "probability": 0.3, "service": {"law": "erlang", "phases": 2, "mean": 0.5}},
    ],
}
LAWS: list[dict[str, Any]] = [
    {"law": "hyperexponential", "probabilities": [0.4, 0.6], "means": [1.0, 2.0]},
    {"law": "bounded_pareto", "low": 1.0, "high": 10.0, "shape": 1.5},
    {"law": "pareto", "shape": 3.5, "mean": 1.0},
    {"law": "deterministic", "value": 1.0},
    {"law": "uniform", "low": 0.5, "high": 1.5},
    {"law": "gamma", "shape": 2.0, "mean": 1.0},
    {"law": "weibull", "shape": 1.5, "mean": 1.0},
    {"law": "lognormal", "mean": 1.0, "cv": 0.5},
    {"law": "mixture", "weights": [0.5, 0.5], "laws": [SERVICE, {"law": "deterministic", "value": 1.0}]},
    {"law": "phase_type", "initial": [1.0, 0.0], "generator": [[-2.0, 1.0], [0.0, -1.0]]},
    {"law": "coxian", "rates": [1.0, 2.0], "continue": [0.5]},
    {"law": "empirical", "values": [1.0, 2.0, 3.0]},
    {"law": "fit", "mean": 1.0, "cv": 0.7},
]
MODELS: list[dict[str, Any]] = [
    MODEL,
    *({**MODEL, "classes": [{"name": "a", "need": 1, "probability": 1.0, "service": law}]} for law in LAWS),
    MODEL | {"arrivals": {"process": "renewal", "gap": {"law": "gamma", "shape": 2.0, "mean": 1.0}}},
    MODEL | {"arrivals": {"process": "mmpp", "generator": [[-1.0, 1.0], [1.0, -1.0]], "rates": [0.5, 1.5]}},
    MODEL | {"arrivals": {"process": "batch", "size": {"law": "deterministic", "value": 2.0},
                          "of": {"process": "poisson", "rate": 0.4}}},
    MODEL | {"scenario": [{"from": 1.0, "until": 2.0, "lost": 1}, {"from": 3.0, "until": 4.0, "rate_factor": 2.0}]},
    {"resources": {"cpu": 8, "gpu": 2}, "arrivals": {"rate": 0.5},
     "classes": [{"name": "a", "need": {"cpu": 2, "gpu": 1}, "probability": 1.0, "service": SERVICE}]},
    {"nodes": [{"name": "n", "count": 4, "has": {"cpu": 8}}], "arrivals": {"rate": 0.5},
     "classes": [{"name": "a", "need": {"cpu": 2}, "tasks": 2, "priority": 1, "probability": 1.0, "service": SERVICE}]},
    {"servers": 6, "classes": [
        {"name": "a", "need": 1, "service": SERVICE, "arrivals": {"process": "poisson", "rate": 0.5}},
        {"name": "b", "need": 2, "service": SERVICE, "arrivals": {
            "process": "renewal", "gap": {"law": "erlang", "phases": 2, "mean": 2.0}}},
    ]},
]  # fmt: skip

# Values that nobody means: nothing, numbers at the ends, what only some readers take for a number, texts that are
# commands elsewhere, lists that do not end.
NUMBERS = (
    "", " ", "0", "-0", "-1", "1", "2", "3", "0.5", "1.5", "nan", "inf", "-inf", "1e308", "1e-308", "1e30", "-1e30",
    "1e999999", "9" * 400, "0x10", "1_000", "1,5", "1.", ".5", "½", "٣", "１２", "1e", "--1", "+1", "1e9", "4294967296",
    "2e15",
)  # fmt: skip
TEXTS = (
    "a", "a,b", ",", "a=b", "=", "a=", "=b", "0:1:0.5", "1:0:1", "0:1:1e-9", "1:2:nan", "1:2:0", "::", "1,2,",
    "servers=2", "servers=1:3:1", "servers=0", "classes.one.need=2", "classes.9.need=1", "a.b.c=1", "arrivals=3",
    "[[[[", "{", "'", '"', "p95(wait) <= 5", "mean(wait[one]) <= 1", "mean(wait[zz]) <= 1", "p95(wait) <= nan",
    "p101(wait) <= 1", "P(wait > x) <= 0.1", "P(wait > 1) <= 0.1", "no_wait >= 0.5", "wait", "\x1b[2J", "\u202eabc",
    "a\nb", "x" * 100_000, "%s%n", "$(exit)", "-", "--", "--json", "--help", ".", "..", "no-such.toml", "\udc80",
    "true", "None", "30s", "1h 30m", "-5min", "0s", "10%", "1:30:00", "from=1, until=2, lost=1", "from=2,until=1",
    "need=2 limit=1h", "need=0", "user", "cpu=2", "cpu=0", "cpu=1e9TB", "now", "fcfs", "easy", "fcfs,easy",
    "fcfs,fcfs", "smash", "msr", "conservative", "no-such-policy.py", "all", "one", "two,one",
)  # fmt: skip
OUTPUTS = (
    "out.json", "out.csv", "out.html", "out.svg", "folder", "", ".", "out.exe", "no/such/out.json", "model.json",
    "a\nb.json", "\u202e.json", ".json", "x" * 300 + ".json", "run", "out.toml", "out.parquet", "~/", "model.json/x",
)  # fmt: skip
# Options that would start processes, run a program or never end are given only values that cannot.
HARMLESS = {
    "workers": ("0", "-1", "x", "1e3", "999999999999"),
    "cluster": ("", "nonsense", "\x1b"),
    "run": ("false", "", "no-such-program-anywhere"),
    "watch": ("0", "-1s", "x", "", "nan"),
    "host": ("no such host", "", "999.1.1.1", "::x"),
    "port": ("-1", "65536", "x"),
    # A replica that is run event by event cannot be stopped in its midst: no value here takes minutes.
    "jobs": ("1", "30", "0", "-1", "nan", "x", "1.5", "1099511627776", "9" * 400),
    "burn_in": ("0", "100", "-1", "x", "1e5", "9" * 400),
    "horizon": ("5", "0", "-1", "nan", "x", "1e300", "2min", "inf"),
    "at": ("1", "2.5", "0", "-1", "nan", "x", "1:3:1", "1e300", "5,1"),
    "backend": ("cpu", "cuda", "gpu", ""),
}
# So that what is right by chance is quick.
QUICK = {
    "samples": "200", "jobs": "60", "replicas": "4", "resamples": "2", "draws": "8", "instants": "3", "time": "3s",
    "max_states": "300", "precision": "0.4",
}  # fmt: skip
# Values that somebody means, by option; a line in which all are meant is answered, and what goes together is tried.
MEANT: dict[str, tuple[str, ...]] = {
    "age": ("0", "5", "2h"), "at": ("1", "2.5"), "block": ("1", "4"), "burn_in": ("0", "100"),
    "by": ("user", "queue"), "change": ("servers=6", "classes.one.need=2"),
    "changes": ("servers=6", "arrivals.rate=0.5", "classes.two.need=3"), "classes": ("user", "3", "queue"),
    "confidence": ("0.9", "0.999999"), "confirmations": ("1", "2"), "cycle": ("1", "10min"), "default_limit": ("1h",),
    "delta": ("1e-6",), "depth": ("0", "5"), "exceeds": ("1", "2min"), "has": ("cpu=8",), "history": ("log.swf",),
    "horizon": ("5", "1e300"), "inflation": ("1", "2.5"), "job": ("1", "2"), "initial_length": ("1", "64"),
    "jobs": ("1", "30", "1099511627776"), "load": ("0.1", "0.9", "0.999", "1", "5"),
    "loads": ("0.5", "0.2,0.9", "1.2", "0.1:0.5:0.2"), "max_jobs": ("1", "1e5"), "max_need": ("1", "4"),
    "metric": ("no_wait", "p95(wait)"), "most": ("8", "1", "1e30"), "names": ("x,y",), "nodes": ("2", "100"),
    "nodes_of": ("nodes.json",), "objective": ("p95(wait)", "no_wait"), "option": ("3",),
    "overestimate": ("0.5", "3"), "now": ("16817", "0"),
    "outages": ("from=1d, until=2d, lost=2", "from=0, until=1h, lost=100%"), "per": ("unit",),
    "percentiles": ("50,99.9", "10"), "policies": ("fcfs,easy", "msr,smash", "conservative"), "probability": ("0.5",),
    "policy": ("easy", "smash", "msr", "quick-swap", "conservative", "server-filling", "first-fit-ageing", "easy-sjbf"),
    "rate": ("0.5", "1", "30 per hour", "100", "1e100"), "rates": ("0.5,1", "3", "1e28"), "replicas": ("2", "100000"),
    "resolution": ("1", "2"), "resources": ("cpu=64",), "run_times": ("0.5", "1e-6"),
    "samples": ("2", "100", "4294967295"), "scale": ("0.5", "2", "100"), "seed": ("0", "7"),
    "servers": ("8", "1", "100000"), "shape": ("1.5",),
    "slo": ("p95(wait) <= 5", "mean(wait[one]) <= 1", "P(wait > 1) <= 0.1", "no_wait >= 0.5", "utilization <= 0.9"),
    "slowdown_threshold": ("1", "10s"), "start": ("stationary", "empty"), "threshold": ("1", "2"), "to_night": ("a",),
    "unit": ("nodes", "cpus"), "vary": ("servers=4:6:1", "rate", "classes.one.need=1,2"), "window": ("1", "20"),
    "what_if": ("need=2 limit=1h",), "windows": ("1", "5"), "within": ("60", "2h"), "without": ("one", "a"),
    "columns": ("need=need",), "max_states": ("1", "1000", "1e30"), "instants": ("2",), "draws": ("2", "50"),
    "resamples": ("2",), "time": ("1s", "1ms", "1e300"),
}  # fmt: skip


def write_files(folder: Path, recorded: Path) -> None:
    """The files that command lines name, in the working folder: good ones, and some that are nothing."""
    (folder / "model.json").write_text(json.dumps(MODEL))
    (folder / "resources.json").write_text(json.dumps(MODELS[-3]))
    (folder / "other.json").write_text(json.dumps(MODEL | {"servers": 5}))
    (folder / "nodes.json").write_text(json.dumps(MODELS[-2]))
    for name in ("log.swf", "month.csv", "now.csv"):
        (folder / name).write_bytes((recorded / name).read_bytes())
    (folder / "empty.toml").write_text("")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "list.json").write_text("[1, 2, 3]")
    (folder / "folder").mkdir()
    (folder / "other.csv").write_text("submit,need,run\n0,1,\x1b[2J\n1,x,nan\n" + "9" * 5000 + ",1,1\n")
    (folder / "team.csv").write_text("name,need,share,mean\na,1,0.5,4 min\nb,2,0.5,1h\n")


# What is given without a name, by question, or by command where there is none.
OF_A_LOG = (("month.csv", "--servers", "12"), ("log.swf", "--servers", "64"))
SUBJECTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "models": ((), ("five-class-exponential",)),
    "init": (("made.toml", "--yes"), ("made.toml", "--from", "team.csv"), ("made.toml", "--nodes")),
    "policies-list": ((),),
    "schema": ((),),
    "report": (("result.json",),),
    "resume": (("run",),),
    "explore": (("model.json", "--no-browser"),),
    "reproduce": (("no-such-figure",),),
    "eta": (("now.csv", "--servers", "8"), ("--log", "log.swf", "--now", "16817", "--servers", "64")),
    "eta-backtest": (("--backtest", "month.csv", "--servers", "10"),),
    "compare": (("model.json", "other.json"), ("model.json", "--change", "servers=5")),
    "policies": (("model.json", "--policies", "fcfs,easy"), ("nodes.json", "--policies", "easy")),
    "compare-log": (("month.csv", "--servers", "12", "--policies", "fcfs,easy"),),
    "replay-cases": (("month.csv", "--servers", "12,16"), ("month.csv", "--servers", "12", "--policies", "easy,fcfs")),
    "partition": (("model.json", "--partition"),),
    "sample": (("model.json", "-o", "samples.csv"),),
    "sweep": (("model.json", "--loads", "0.3,0.5"), ("model.json", "--vary", "servers=4,6")),
    "sweep-log": (("month.csv", "--servers", "12", "--vary", "servers=12,14"),),
    "plan": (("model.json", "--slo", "mean(wait) <= 9"),),
    "plan-log": (("month.csv", "--servers", "12", "--slo", "mean(wait) <= 20000"),),
}
OF_A_MODEL = (("model.json",), ("model.json", "--load", "0.5"), ("resources.json",), ("nodes.json",))
FILES = (
    "model.json", "resources.json", "nodes.json", "log.swf", "month.csv", "now.csv", "empty.toml", "binary.toml",
    "deep.json", "list.json", "folder", "other.csv", "team.csv", "result.json", "run", "five-class-exponential",
    "no-such.toml", "", "\x1b[2J", "/dev/null", "a\nb", "x" * 5000,
)  # fmt: skip


@dataclass(frozen=True)
class Flag:
    """An option of a command, as it is typed."""

    names: tuple[str, ...]
    field: str
    valued: bool
    number: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """What is typed: a command for one of its questions, and the options of that question, or of another of them."""

    command: str
    subjects: tuple[tuple[str, ...], ...]
    own: tuple[Flag, ...]
    all: tuple[Flag, ...]


def cases() -> dict[str, Case]:
    """Every question of the register and every command of the program, with their options."""
    group: Any = get_command(app)
    known = load_all()
    found: dict[str, Case] = {}
    with group.make_context("loynes", [], resilient_parsing=True) as context:
        for command in group.list_commands(context):
            flags = tuple(_flags(group.get_command(context, command).params, known))
            asked = {n: q for n, q in known.items() if command == (q.asked_by[0] if q.asked_by else n)}
            if command == "policies":  # the command lists them; the question is asked by another
                asked = {}
            for name, question in asked.items():
                usual = OF_A_LOG if "trace" in question.model_fields else OF_A_MODEL
                own = tuple(one for one in flags if one.field in question.model_fields or one.field in COMMON)
                found[name] = Case(command, SUBJECTS.get(name, usual), own, flags)
            if not asked:
                name = "policies-list" if command == "policies" else command
                found[name] = Case(command, SUBJECTS.get(name, tuple((one,) for one in FILES)), flags, flags)
    return found


COMMON = ("as_json", "out", "changes", "quiet")


def _flags(params: list[Any], known: dict[str, type[Question]]) -> Iterator[Flag]:
    for one in params:
        names = tuple(n for n in (*one.opts, *one.secondary_opts) if n.startswith("-"))
        words = tuple(re.split(r"\|", one.metavar or "")) if "|" in (one.metavar or "") else ()
        if names and "--help" not in names:
            valued = not getattr(one, "is_flag", False)
            yield Flag(names, str(one.name), valued, _is_number(str(one.name), known), words)


def _is_number(name: str, known: dict[str, type[Question]]) -> bool:
    """Whether an option takes a plain number: what is none is refused before anything else is looked at."""
    owner = next((one for one in known.values() if name in one.model_fields), None)
    if owner is None:
        return False
    option = option_of(owner, name)
    plain = option.written == "value" and reader_of(option.unit, None) is None
    annotation = owner.model_fields[name].annotation
    return plain and bool({int, float} & {annotation, *get_args(annotation)})


def values_for(flag: Flag) -> st.SearchStrategy[str]:
    if flag.field in HARMLESS:
        return st.sampled_from(HARMLESS[flag.field])
    if "--output" in flag.names:
        return st.sampled_from(OUTPUTS)
    meant = [st.sampled_from(words) for words in (MEANT.get(flag.field, ()), flag.choices) if words]
    if flag.number:
        return st.one_of(*meant, st.sampled_from(NUMBERS), st.integers(-3, 70).map(str), st.floats().map(repr))
    anything = st.text(st.characters(exclude_characters="\0"), max_size=6)
    return st.one_of(*meant, *meant, st.sampled_from(NUMBERS), st.sampled_from(TEXTS), anything)


@st.composite
def command_lines(draw: st.DrawFn, known: dict[str, Case]) -> list[str]:
    """A command with what it is about, up to three options of odd or meant values, and now and then another file."""
    case = known[draw(st.sampled_from(sorted(known)))]
    about = list(draw(st.sampled_from(case.subjects)))
    if about and not about[0].startswith("-") and draw(st.integers(0, 7)) == 0:
        about[0] = draw(st.sampled_from(FILES))
    line = [case.command, *about]
    fields = {flag.field: flag.names[0] for flag in case.own}
    line += [word for field, value in QUICK.items() if field in fields for word in (fields[field], value)]
    line += ["--quiet"] if "quiet" in fields else []
    flags = case.all if draw(st.integers(0, 5)) == 0 else case.own
    if flags:
        for flag in draw(st.lists(st.sampled_from(flags), max_size=3, unique=True)):
            word = draw(st.sampled_from(flag.names))
            line += [word, draw(values_for(flag))] if flag.valued else [word]
    return line


ODD_VALUES = st.one_of(
    st.sampled_from([0, -1, 1, 2, 1.5, -0.0, 1e308, 1e-308, 1e100, 1e-100, 1e30, 10**400, 2**53, 2**64, True, False]),
    st.sampled_from([None, float("nan"), float("inf"), -float("inf"), [], {}, [[]], [1], [1, 2], [-1.0], [None], [{}]]),
    st.sampled_from(["", " ", "1", "4 min", "-1h", "10%", "101%", "nan", "x" * 1000, "\x1b[2J", "\u202e", "a\nb"]),
    st.sampled_from(["\udc80", "exponential", "fcfs", "random", "reserving", "hours", "512GB", "poisson", "pack"]),
    st.sampled_from(
        [SERVICE, *LAWS, {"law": "exponential"}, {"a": 1}, {"process": "poisson"}, {"cpu": 1}, {"cpu": -1}]
    ),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=5),
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*place, key)
        yield from places(one, (*place, key))


KEYS = (
    "servers", "resources", "nodes", "arrivals", "classes", "scenario", "name", "need", "specific", "tasks",
    "per_node", "partition", "priority", "probability", "service", "law", "mean", "rate", "cv", "process", "rates",
    "until", "from", "lost", "time_unit", "discipline", "quotas", "placement", "preemption", "\u202e", "no such key",
    "",
)  # fmt: skip


@st.composite
def models(draw: st.DrawFn) -> Any:
    """A model, of which up to four places hold another value, are gone, are there twice, or have a key more."""
    document = copy.deepcopy(draw(st.sampled_from(MODELS)))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        everywhere = list(places(document))
        if not everywhere:
            break
        *way, last = draw(st.sampled_from(everywhere))
        inside: Any = document
        for key in way:
            inside = inside[key]
        match draw(st.integers(0, 5)):
            case 0:
                del inside[last]
            case 1 if isinstance(inside, list):
                inside.append(copy.deepcopy(inside[last]))
            case 1 | 2 if isinstance(inside, dict):
                inside[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(ODD_VALUES))
            case _:
                inside[last] = copy.deepcopy(draw(ODD_VALUES))
    return document


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: object
    out: str
    err: str


class TooLongError(BaseException):
    """A command line took more processor time than it may; no handler of the program's own stops this."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Processor time and memory are limited inside, where the system can."""
    if resource is None or not hasattr(signal, "setitimer"):
        yield
        return

    def too_long(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, too_long)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = _address_space()
    if taken:
        resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _address_space() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def run(line: list[str]) -> Ended:
    """A command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(), bounded():
        # What Python warns of would reach whoever typed this.
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LoynesWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            main(line)
        except SystemExit as end:
            code = end.code
    return Ended(code, out.getvalue(), err.getvalue())


def there(folder: Path) -> dict[str, float]:
    """The files and folders in a folder, and when each file was written."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: path.stat().st_mtime_ns if path.is_file() else 0 for name, path in paths.items()}


def holds(line: list[str], folder: Path) -> Ended:
    """Run a command line and look at what every one of them promises."""
    before = there(folder)
    ended = run(line)
    said = ended.err.splitlines()
    if ended.code == 70:
        report = re.search(r"please report it, with (\S+)", ended.err)
        if report:
            ended = Ended(70, ended.out, ended.err + Path(report[1]).read_text())
            Path(report[1]).unlink()
    assert ended.code in CODES, f"exit code {ended.code}\n{ended.err}"
    for text in (ended.out, ended.err):
        assert "Traceback" not in text
        assert not OBEYED.search(text), f"a terminal obeys this: {text!r}"
    if ended.code in (BAD, UNSTABLE):
        assert said, "nothing is said"
        assert all(one.startswith("loynes: ") for one in said), ended.err
        of_one_file = said[0].split()[1].rstrip(":")  # a model file may have several mistakes
        assert all(one.startswith(f"loynes: {of_one_file}") for one in said), ended.err
        assert len(ended.err) < 20_000
        assert not ended.out, "something was shown, and then refused"
        # A run whose time was up before anything was known can be resumed: its folder stays.
        if "was up before anything was known" not in ended.err:
            assert there(folder) == before, "something was written, and then refused"
    return ended


def without_the_network(patch: pytest.MonkeyPatch) -> None:
    """`explore` says where it would listen, and ends."""
    pytest.importorskip("starlette")
    patch.setattr("loynes.explore.server.serve", lambda state, listening, *_: listening.close())
    patch.setattr(sys, "argv", ["loynes"])
