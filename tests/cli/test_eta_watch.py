"""A listing that is read again and again: what changes shows, and what cannot be read does not end it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from loynes.cli.app import main

HEAD = "id,state,need,elapsed,limit\n1,R,4,60,600\n"
LISTINGS = [
    HEAD + "2,PD,4,,600\n",
    "",  # the scheduler does not answer
    HEAD,  # nobody waits
    HEAD + "3,PD,4,,600\n",
]


@pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")
def test_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    listing, rest, waits = tmp_path / "now.csv", iter(LISTINGS), list[float]()
    listing.write_text(next(rest))

    asleep = time.sleep

    def passes(seconds: float) -> None:
        if seconds < 1:  # somebody else's
            asleep(seconds)
            return
        waits.append(seconds)
        text = next(rest, None)
        if text is None:
            raise KeyboardInterrupt
        listing.write_text(text)

    monkeypatch.setattr("loynes.cli.commands.time.sleep", passes)
    show = f"{sys.executable} -c \"print(open(r'{listing}').read(), end='')\""
    with pytest.raises(SystemExit) as end:
        main(["eta", "--run", show, "--servers", "4", "--draws", "20", "--watch", "1min", "--quiet"])
    assert end.value.code == 130
    assert waits == [60.0] * 4
    printed = capsys.readouterr()
    answers = printed.out.split("when waiting jobs start")[1:]
    lines = [line for one in answers for line in one.partition("the cluster from now on")[0].splitlines()]
    rows = [line.split()[0] for line in lines if line.startswith(("  2 ", "  3 "))]
    assert rows == ["2", "3"]
    assert "printed nothing" in printed.err
    assert "no job is waiting" in printed.err
