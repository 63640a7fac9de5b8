"""Change the package in one place at a time, and see whether a test notices: ``make mutants``.

mutmut says what may be changed inside a function; words are left alone. The sample is the changes whose descriptions
have the smallest checksums: it is the same in each run, and an edit of one function leaves the rest of it. Each change
is judged in a process of its own, by the tests that execute its line, the fastest first, until one fails: those and
the examples of its room, of hostile input and of exact arithmetic; for the engine those of all rooms, its own first.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gc
import hashlib
import importlib
import io
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType

import coverage
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ["engine", "admm", "kernels", "svm", "svr", "regression"]
NOTES = ROOT / "build" / "mutants"  # which tests execute which lines, and how long they take
QUICK = ["-q", "--assert=plain", "-pno:nbval", "-pno:cacheprovider"]
OPTIONS = [*QUICK, "-mnot slow"]
SECONDS = 20.0  # of tests for one change


def changes(under: str, most: int) -> list[tuple[str, str]]:
    """Return file and changed text of each change of the sample."""
    from mutmut.mutation.file_mutation import create_mutations

    found = []
    for path in (p for room in ROOMS for p in sorted((ROOT / "companion" / room).glob("*.py"))):
        file, seen = path.relative_to(ROOT).as_posix(), Counter()
        module, mutations, *_ = create_mutations(file, path.read_text())
        for each in mutations if file.startswith(under) else []:
            old, new = (module.code_for_node(n) for n in (each.original_node, each.mutated_node))
            function = getattr(each.contained_by_top_level_function, "name", None)
            if function is not None and old[-1] not in "\"'":
                name = f"{file} {function.value} {old} {new}"
                seen[name] += 1
                order = hashlib.sha256(f"{name} {seen[name]}".encode()).digest()
                found.append((order, file, module, each))
    sample = sorted(found, key=lambda change: change[0])[:most]
    return [(f, m.deep_replace(e.original_node, e.mutated_node).code) for _, f, m, e in sample]


def difference(file: str, text: str, *names: str) -> list[str]:
    """Return the changed lines, by the names of both texts."""
    before, after = (ROOT / file).read_text().splitlines(), text.splitlines()
    return list(difflib.unified_diff(before, after, *names, n=0, lineterm=""))


def rooms_of(file: str) -> list[str]:
    """Return the rooms whose tests can notice a change."""
    here = Path(file).parts[1]
    return ["exact", "hostile", *(ROOMS if here == "engine" else [here])]


def paths_of(room: str) -> list[str]:
    """Return where the tests and the examples of a room are."""
    return [f"tests/{room}", f"companion/{room}"] if room in ROOMS else [f"tests/{room}"]


class Watch:
    """A plugin for pytest that notes which lines each test executes, and how long it takes."""

    def __init__(self, room: str) -> None:
        self.lines = coverage.Coverage(NOTES / room, source=["companion"], config_file=False)
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note lines for this test from now on."""
        self.lines.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test took."""
        if report.when == "call" and report.passed:  # what fails without any change judges nothing
            self.seconds[report.nodeid] = report.duration


def watch(room: str) -> int:
    """Run the tests and the examples of a room, and write what they execute."""
    plugin = Watch(room)
    with plugin.lines.collect():
        code = pytest.main([*OPTIONS, *paths_of(room)], plugins=[plugin])
    plugin.lines.save()
    (NOTES / f"{room}.json").write_text(json.dumps(plugin.seconds))
    return code


def chosen(file: str, text: str) -> tuple[list[str], float]:
    """Return the tests that execute the first changed line, or else the next that any executes, and their seconds."""
    line = int(difference(file, text)[2].split()[1].split(",")[0][1:])
    here, seconds, tests_at = Path(file).parts[1], {}, defaultdict(set)
    for room in rooms_of(file):
        notes = coverage.CoverageData(NOTES / room)
        notes.read()
        seconds |= json.loads((NOTES / f"{room}.json").read_text())
        for number, tests in notes.contexts_by_lineno(str(ROOT / file)).items():
            tests_at[number] |= set(tests) & seconds.keys()
    first = min(
        (number for number, tests in tests_at.items() if number >= line and tests), default=0
    )
    total, few = 0.0, []
    for test in sorted(tests_at[first], key=lambda t: (f"/{here}/" not in t, seconds[t])):
        if total < SECONDS:
            total += seconds[test]
            few.append(test)
    return few, total


def put(file: str, text: str) -> None:
    """Give the functions of an imported module the code and the defaults that they have in another text."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    changed = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(text, str(ROOT / file), "exec"), changed)
    gc.unfreeze()
    every = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
    for new in (f for f in every if f.__globals__ is changed and "<locals>" not in f.__qualname__):
        for old in (f for f in every if f.__globals__ is vars(module)):
            if old.__qualname__ == new.__qualname__ != "<lambda>":
                old.__code__, old.__defaults__ = new.__code__, new.__defaults__
                old.__kwdefaults__ = new.__kwdefaults__


def judge(file: str, text: str, tests: list[str], seconds: float) -> int:
    """Run tests on a package whose file has another text."""
    import resource  # Windows has none

    put(file, text)
    resource.setrlimit(resource.RLIMIT_CPU, (int(30 + 4 * seconds), resource.RLIM_INFINITY))
    return pytest.main([*OPTIONS, "-x", *tests]) if tests else 0


def apart(calls: list[Callable[[], int]], jobs: int) -> Iterator[tuple[int, int]]:
    """Make each call in a process of its own, which has the package and the tests; yield how it ended."""
    running: dict[int, int] = {}
    for i in range(len(calls) + jobs):
        if len(running) == jobs or (running and i >= len(calls)):
            child, status = os.wait()
            yield running.pop(child), os.waitstatus_to_exitcode(status)
        if i < len(calls) and not (child := os.fork()):
            log = os.open(NOTES / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                os._exit(calls[i]())
            finally:
                os._exit(70)
        elif i < len(calls):
            running[child] = i


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=300, help="size of the sample (300)")
    parser.add_argument("--under", default="companion/", help="only files whose path starts so")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (2)")
    given = parser.parse_args()
    NOTES.mkdir(parents=True, exist_ok=True)
    sample = changes(given.under, given.most)
    rooms = sorted({room for file, _ in sample for room in rooms_of(file)})
    paths = [path for room in rooms for path in paths_of(room)]
    with contextlib.redirect_stdout(io.StringIO()):  # this imports them
        pytest.main([*OPTIONS, "--collect-only", *paths])
    for _, code in apart([partial(watch, room) for room in rooms], given.jobs):
        if code:
            print(f"some tests fail without any change, see {NOTES / 'log'}", flush=True)
    tasks = [(file, text, *chosen(file, text)) for file, text in sample]
    codes = []
    for i, code in apart([partial(judge, *task) for task in tasks], given.jobs):
        codes.append(code)
        if code == 0:
            file, text, tests, _ = tasks[i]
            print(*difference(file, text, file, f"{len(tests)} tests"), sep="\n", flush=True)
        if len(codes) % 20 == 0 or len(codes) == len(tasks):
            ends, noticed = dict(Counter(codes)), len(codes) - codes.count(0)
            print(f"{noticed} of {len(codes)} noticed; pytest ended with {ends}", flush=True)


if __name__ == "__main__":
    main()
