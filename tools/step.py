"""Run one step of a make target: a line on it when all is well, everything that it said when not.

``python tools/step.py TITLE COMMAND ...`` needs Python's own library only, since the first step makes the environment.
The line ends with the last thing that the command said and the time it took. From two minutes on a line says now and
then that the step is running. What could not be done for want of a program is said (lines that begin with SKIPPED), but
once.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time

# not the last thing said: pip's, uv's, npm's
NOISE = ("[notice]", "WARNING:", "warning:", "===", "---", "ℹ", "#", "SKIPPED")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def took(seconds: float) -> str:
    """Return a time as people say it.

    >>> took(4.2), took(200.0)
    ('4 s', '3 min 20 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def run(title: str, command: list[str]) -> int:
    """Run a command, and tell of it; return its exit code."""
    begun, wait, said = time.monotonic(), 120, None
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, **streams, text=True, errors="replace")  # type: ignore[call-overload]
    while said is None:
        try:
            said, _ = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            print(f"  {title}: running for {took(time.monotonic() - begun)}", flush=True)
            wait *= 3
    ended = took(time.monotonic() - begun)
    if code := process.returncode:
        print(f"✗ {title} failed. All that it said:\n\n{said}\n✗ {title}: code {code}, {ended}")
        return code
    lines = [COLOUR.sub("", line).strip("= ") for line in said.splitlines()]
    last = [line for line in lines if line and not line.startswith(NOISE)][-1:]
    print(": ".join([f"✓ {title}", *last]), f"({ended})")
    for line in dict.fromkeys(line for line in lines if line.startswith("SKIPPED")):
        print(f"    {line}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title", help="what the line says")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    sys.exit(run(**vars(parser.parse_args())))
