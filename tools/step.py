"""Run one step of a make target: a line on it when all is well, everything that it said when not.

``python tools/step.py TITLE COMMAND ...`` needs Python's own library only, since the first step makes the environment.
The line ends with the last thing that the command said and the time it took. A terminal shows meanwhile what it is at;
elsewhere a line says after 2, 6, 18, ... minutes that it is still running. What could not be done for want of a program
is said (lines that begin with SKIPPED), but once.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time

NOISE = (
    "[notice]",
    "WARNING:",
    "warning:",
    "===",
    "---",
    "ℹ",
    "#",
)  # not the last thing said: pip's, uv's, npm's
COLOUR = re.compile(r"\x1b\[[\d;]*m")
TOLD = 4  # reasons for what was skipped


def took(seconds: float) -> str:
    """Return a time as people say it.

    >>> took(4.2), took(200.0)
    ('4 s', '3 min 20 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def run(title: str, command: list[str]) -> int:
    """Run a command, and tell of it; return its exit code."""
    begun, live, said = time.monotonic(), sys.stdout.isatty(), list[str]()
    done = threading.Event()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )

    def tell() -> None:
        wait = 120.0
        while not done.wait(0.5):
            seconds = time.monotonic() - begun
            if live:
                now = said[-1].strip()[-50:] if said else ""
                print(f"\r\033[K  {title} {took(seconds)} {now}", end="", flush=True)
            elif seconds > wait:
                print(f"  {title}: still running after {took(wait)}", flush=True)
                wait *= 3

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
    code, lines = process.wait(), [COLOUR.sub("", line).strip() for line in said]
    done.set()
    teller.join()
    clear = "\r\033[K" if live else ""
    if code:
        print(
            f"{clear}✗ {title} failed with code {code}. All that it said:\n\n{''.join(said)}",
            flush=True,
        )
        print(f"✗ {title} failed after {took(time.monotonic() - begun)}", flush=True)
        return code
    last = next(
        (line.strip("= ") for line in reversed(lines) if line and not line.startswith(NOISE)), ""
    )
    skipped = dict.fromkeys(line for line in lines if line.startswith("SKIPPED"))
    told = f": {last}" if last and last not in skipped else ""
    print(f"{clear}✓ {title}{told} ({took(time.monotonic() - begun)})", flush=True)
    for line in [*skipped][:TOLD]:
        print(f"    {line}", flush=True)
    if len(skipped) > TOLD:
        print(f"    and {len(skipped) - TOLD} more reasons like these", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    sys.exit(run(given.title, given.command))
