"""The `loynes` command. Nothing heavy is imported until a command runs: --help must be quick."""

from __future__ import annotations

import atexit
import gc
import io
import os
import shlex
import signal
import sys
from typing import Annotated, Any

import typer

from loynes._version import __version__
from loynes.cli import completion
from loynes.cli.commands import ClusterOption, JsonOption, QuestionGroup, QuietOption, SetOption, WorkersOption

app = typer.Typer(
    name="loynes",
    cls=QuestionGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How much load can a cluster take whose jobs need several servers at once, how long does each class of job "
    "wait, and what does head-of-line blocking cost?",
    epilog="Start with:  loynes evaluate five-class-exponential --load 0.75",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loynes {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See --help."""


@app.command(epilog="Examples:\n\nloynes models\n\nloynes models one-or-all > mine.toml")
def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this model's file.", autocompletion=completion.builtin)
    ] = None,
) -> None:
    """List the built-in models, or print one."""
    from loynes.cli import output
    from loynes.model import builtin_names, builtin_text, load
    from loynes.results.table import Table

    if name is not None:
        typer.echo(builtin_text(name), nl=False)
        return
    rows = tuple(
        (
            m.label,
            m.size if m.by_resource else str(m.servers),
            str(len(m.classes)),
            m.ideal,
            (m.description or "").split(". ")[0],
        )
        for m in (load(n) for n in builtin_names())
    )
    columns = ("name", "servers", "classes", "ideal rate", "description")
    output.tables(Table("built-in models", columns, rows, ("ideal rate", "classes", "servers")))


@app.command(
    epilog="Examples:\n\nloynes init\n\nloynes init nodes.toml --nodes\n\n"
    "loynes init team.toml --from team.csv --servers 64\n\n"
    "A table has a line for each kind of job: name, need, share (or jobs per day), mean duration (min), cv."
)
def init(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The .toml file to write.")] = "model.toml",
    table: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE.csv", help="Kinds of jobs from a table; columns are known by their names."
        ),
    ] = None,
    servers: Annotated[int | None, typer.Option("--servers", min=1, help="How many servers there are.")] = None,
    jobs_per_hour: Annotated[
        float | None, typer.Option("--jobs-per-hour", min=1e-6, help="How many jobs come, of all kinds together.")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="A cluster of nodes, with tasks that run on them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing, take what is usual.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Write a model file to start from, with a comment on every line: by a few questions, or from a table."""
    from loynes.cli import output, starting

    ask = not yes and table is None and not nodes and sys.stdin.isatty()
    notes = starting.begin(
        path, table=table, servers=servers, jobs_per_hour=jobs_per_hour, nodes=nodes, ask=ask, force=force
    )
    output.wrote(path, quiet)
    if not quiet:
        for note in (*notes, f"look at it, change what is not right, then: loynes evaluate {path}"):
            output.tell(note)


@app.command(epilog="Example:\n\nloynes policies")
def policies(as_json: JsonOption = False) -> None:
    """List the policies that decide who starts next."""
    from loynes.cli import output
    from loynes.kernels.events.policies import policies as all_policies
    from loynes.results.table import Table

    known = all_policies().values()
    if as_json:
        names = ("name", "summary", "believes_run_times", "identical_servers_only", "reference")
        facts = [{n: getattr(one, n) for n in names} | {"option": one.option and vars(one.option)} for one in known]
        output.document({"policies": facts})
        return
    options = [(one.name, one.option) for one in known if one.option is not None]
    words = {n: f"--{o.name} {'(computed)' if o.default is None else o.default}" for n, o in options}
    rows = tuple((o.name, words.get(o.name, ""), "yes" if o.believes_run_times else "", o.summary) for o in known)
    columns = ("policy", "option and default", "believes run times", "who starts")
    output.tables(Table("policies", columns, rows, ("believes run times", "option and default")))
    output.say("a file of your own works, too: loynes simulate MODEL --policy my_policy.py (see docs/policies.md)")


@app.command(epilog="Examples:\n\nloynes schema\n\nloynes schema result\n\nloynes schema result evaluate")
def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[model|result]", help="Of a model file, or of a result.", autocompletion=completion.schema_kinds
        ),
    ] = "model",
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Which result; without it, the names.", autocompletion=completion.result_kinds
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a model file, or of a command's result."""
    from loynes.cli import output
    from loynes.errors import UsageError
    from loynes.model import Model
    from loynes.results.base import result_kinds
    from loynes.results.schemas import result_schema

    if kind not in completion.SCHEMA_KINDS:
        raise UsageError(f"loynes schema {kind}: there are {' and '.join(completion.SCHEMA_KINDS)}")
    if kind == "model" and name is not None:
        raise UsageError(f"loynes schema model {name}: model files have one schema, without a name")
    if kind == "model":
        output.document(Model.model_json_schema())
    elif name is None:
        print(*sorted(result_kinds()), sep="\n")
    else:
        output.document(result_schema(name))


@app.command(epilog="Example:\n\nloynes evaluate one-or-all --load 0.99 -o run\n\nloynes resume run")
def resume(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that was given with -o.", autocompletion=completion.results)
    ],
    as_json: JsonOption = False,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
    time: Annotated[
        str | None, typer.Option("--time", metavar="DURATION", help="Stop after so long: 30s, 5min, 2h.")
    ] = None,
) -> None:
    """Go on with a run that was stopped, to the same result."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.questions.asking.ask import deadline_of
    from loynes.questions.asking.ask import resume as go_on
    from loynes.questions.asking.folder import complete
    from loynes.questions.asking.register import load_all

    load_all()
    known, deadline = complete(folder), deadline_of(folder, time)
    ways: dict[str, Any] = {"quiet": quiet, "cluster": cluster, "workers": workers, "deadline": deadline}
    with asking(f"{folder}: resume", folder, **ways) as (progress, executor):
        result = go_on(folder, executor=executor, progress=progress, deadline=deadline)
    output.result(result, as_json, folder)
    (output.had_it if known else output.wrote)(folder, quiet)
    output.stopped(result, folder)
    if result.unmet:
        raise typer.Exit(1)


@app.command(
    epilog="Examples:\n\nloynes evaluate five-class-exponential --load 0.75 -o result.json\n\n"
    "loynes report result.json -o waits.html"
)
def report(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT|DIR", help="A result (.json) or a run folder.", autocompletion=completion.results
        ),
    ],
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="PATH", help="The .html file to write.")
    ] = "report.html",
    quiet: QuietOption = False,
) -> None:
    """A result as one HTML page: words, charts, tables, and how sure they are."""
    from pathlib import Path

    from loynes.cli import output
    from loynes.errors import UsageError
    from loynes.report import write
    from loynes.results.base import RESULT, RUN, read_result

    source = Path(result)
    if (source / RUN).exists() and not (source / RESULT).exists():
        raise UsageError(f"{result}: the run is not finished; loynes resume {result}")
    write(read_result(source), out)
    output.wrote(out, quiet)


@app.command(
    epilog="Examples:\n\nloynes explore\n\nloynes explore mine.toml --no-browser --port 8765\n\n"
    "loynes explore mine.toml -o page.html\n\n"
    "The page is served on this machine only, until it is interrupted (Ctrl-C). With -o it is written to a file that "
    "needs no server, and ends."
)
def explore(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[MODEL|LOG]",
            help="A model file, a built-in name, or a job log, to which a model is fitted.",
            autocompletion=completion.subjects,
        ),
    ] = "five-class-exponential",
    changes: SetOption = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 is any free port.")] = 0,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Listen on another address of this machine: others see it.")
    ] = "127.0.0.1",
    out: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE.html", help="Write one page that needs no server, instead."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="DURATION", help="With -o: how long its numbers may take, 3min unless said."),
    ] = None,
) -> None:
    """A live page: change the cluster, and every number follows, with its interval."""
    from loynes.cli.exploring import explore as begin
    from loynes.cli.exploring import time_budget, write
    from loynes.errors import UsageError

    if out is not None:
        write(subject, changes or (), out, None if time is None else time_budget(time))
        return
    if time is not None:
        raise UsageError("time: is for a page that is written; add -o FILE.html")
    begin(subject, changes or (), browser=browser, port=port, host=host)


@app.command(
    epilog="Examples:\n\nloynes reproduce one-or-all --quick\n\nloynes reproduce all -o paper\n\n"
    "Names: one-or-all, hol-big-jobs, hol-rate, densities, waits-exponential, waits-hyperexponential, waits-laws, "
    "cell-b, random-assignment."
)
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME ...|all]", help="Which tables and figures; default all.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All in ten minutes on two cores, with wider intervals.")
    ] = False,
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Where data and figures go.")
    ] = "reproduced",
    seed: Annotated[int, typer.Option("--seed", help="Seed of all randomness.")] = 1,
    backend: Annotated[
        str, typer.Option("--backend", metavar="auto|cpu|cuda|cuda:64", help="Where to compute.")
    ] = "auto",
    as_json: JsonOption = False,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """The paper's tables and figures, computed again: data, figures, and how they agree with the print."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.paper.reproduce import reproduce as compute
    from loynes.paper.reproduce import summary
    from loynes.report.reproduction import write_page

    with asking("reproduce", None, quiet=quiet, cluster=cluster, workers=workers) as (progress, executor):
        items = compute(
            names or "all", out, quick=quick, seed=seed, backend=backend, executor=executor, progress=progress
        )
    line = ["loynes", "reproduce", *(names or ["all"]), *(["--quick"] if quick else []), "-o", out, "--seed", str(seed)]
    page = write_page(items, out, shlex.join([*line, "--backend", backend]), seed)
    if as_json:
        output.document({one.name: {"agrees": one.agrees, "checks": [vars(c) for c in one.checks]} for one in items})
    else:
        output.tables(summary(items))
        for one in items:
            for check in one.checks:
                if not check.agrees:
                    output.say(f"{one.name}: {check.what}: ours {check.ours}, printed {check.printed}")
        output.say(f"data, figures, agreement.md and the page {page.name} are in {out}")
    output.wrote(out, quiet)
    if not all(one.agrees for one in items):
        raise typer.Exit(1)


# The exit code of a program that was interrupted, by custom.
INTERRUPTED = 130


def _at_the_prompt() -> None:
    """What makes a program of one command quick, before anything heavy is loaded."""
    from loynes.kernels.cuda.warming import asked_for, warm_up

    # Modules are 150,000 objects that stay. Python would search them for garbage again and again, and a last time when
    # it ends: a third of a short command's time.
    gc.set_threshold(250_000)
    atexit.register(gc.freeze)
    # Threads of linear algebra pay for the large matrices of exact answers. Regressions on a dozen controls, which the
    # other commands have, take a thousandth of a second alone, and with threads on a busy machine a tenth.
    if sys.argv[1:2] != ["exact"]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if asked_for(sys.argv):
        warm_up()


# The exit code of a mistake in the program (EX_SOFTWARE of BSD's sysexits.h).
UNFORESEEN = 70


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors a user can cause become one line on standard error and an exit code."""
    from loynes.errors import LoynesError
    from loynes.readable import readable

    if arguments is None:
        _at_the_prompt()
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot take ± shows another sign instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        ended = app(args=arguments, prog_name="loynes", standalone_mode=False)
        code: str | int | None = ended if isinstance(ended, int) else 0  # that of typer.Exit
    except SystemExit as end:
        code = end.code
    except LoynesError as error:
        for line in error.lines:
            print(readable(f"loynes: {line}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        print("loynes: nothing was answered, nothing was written", file=sys.stderr)
        sys.exit(1)
    except MemoryError as error:
        size = f" ({error})" if str(error) else ""  # NumPy says how much was asked for
        print(f"loynes: not enough memory{size}; ask for fewer replicas, samples or servers", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"loynes: standard output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if _is_about_usage(error):
            sys.exit(_usage(error))
        _report_asked(error)
        sys.exit(UNFORESEEN)
    if code == INTERRUPTED and arguments is None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more, while Python shuts down, changes nothing
    sys.exit(code)


def _is_about_usage(error: Exception) -> bool:
    """Whether it is Click's, about a command line that cannot be read; newer versions of Typer have their own Click."""
    return any(one.__name__ == "ClickException" for one in type(error).__mro__)


def _usage(error: Any) -> int:
    """One line for a command line that cannot be read, instead of a box; help where there is nothing but a name."""
    from loynes.readable import readable

    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.ctx.get_help())
        return int(error.exit_code)
    said = " ".join(error.format_message().split()).rstrip(".")
    command = getattr(error, "ctx", None)
    where = "loynes" if command is None else command.command_path
    print(readable(f"loynes: {said}; see {where} -h"), file=sys.stderr)
    return int(error.exit_code)


def _report_asked(error: Exception) -> None:
    """One line for a mistake of ours; where it happened is in a file, for whoever looks for it."""
    import tempfile
    import traceback

    said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    with tempfile.NamedTemporaryFile("w", prefix="loynes-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(f"loynes {__version__}: {shlex.join(sys.argv)}\n\n")
        traceback.print_exception(error, file=file)
    print(f"loynes: a mistake in loynes itself ({said}); please report it, with {file.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
