"""Change the package in one place at a time, and see whether the tests notice.

    python -m tools.mutants [--sample N] [--jobs N] [--seed N] [MODULE ...]

A mutant is a module with one operator, comparison, constant or condition changed. Each is imported in a process of
its own, in place of the true module, and the tests of that module run until the first failure. A mutant that no test
kills is printed: either a test is missing, or the change makes no difference (a tolerance, a shortcut).

The processes are forked from one that has already imported the libraries. A mutant costs what its tests cost, not
the seconds that NumPy and SciPy take to load.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "mutants.json"
SECONDS = 90  # processor time for one mutant: an endless loop is noticed, too

# The tests of each module, those that fail soonest first.
TESTS = {
    "companion.admm.proximal": ["tests/admm/test_proximal.py", "tests/admm/test_survivors.py"],
    "companion.admm.quadratic": [
        "tests/admm/test_quadratic.py",
        "tests/admm/test_qsolve1.py",
        "tests/admm/test_degenerate_qps.py",
    ],
    "companion.admm.kkt": [
        "tests/admm/test_survivors.py",
        "tests/admm/test_quadratic.py",
        "tests/admm/test_degenerate_qps.py",
    ],
    "companion.admm.active_set": [
        "tests/admm/test_survivors.py",
        "tests/admm/test_quadratic.py",
        "tests/admm/test_degenerate_qps.py",
    ],
    "companion.svm.slab": [
        "tests/svm/test_kept_mutants.py",
        "tests/svm/test_programs.py",
        "tests/svm/test_degenerate.py",
    ],
    "companion.svm.soft_margin": [
        "tests/svm/test_kept_mutants.py",
        "tests/svm/test_programs.py",
        "tests/svm/test_degenerate.py",
    ],
    "companion.svm.points": [
        "tests/svm/test_kept_mutants.py",
        "tests/svm/test_programs.py",
        "tests/svm/test_properties.py",
        "tests/svm/test_sklearn.py",
    ],
    "companion.svm.bounds": ["tests/svm/test_existence.py", "tests/svm/test_programs.py"],
}

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = [("max", "min"), ("maximum", "minimum"), ("any", "all"), ("zeros", "ones")]
NAMES = dict(PAIRS) | {b: a for a, b in PAIRS}
LIBRARIES = [
    "cvxpy",
    "clarabel",
    "hypothesis",
    "numpy",
    "pandas",
    "pytest",
    "scipy.optimize",
    "sklearn.svm",
]


class Mutant(NamedTuple):
    """One change of a module: the expression with this number becomes the choice with that number."""

    module: str
    line: int
    before: str
    after: str
    place: int = -1  # no change
    choice: int = 0


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an expression may be changed to."""
    new: Any
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (COMPARISONS, OPPOSITES):
            if type(node.ops[0]) in table:
                new = copy.deepcopy(node)
                new.ops = [table[type(node.ops[0])]()]
                yield new
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        new = copy.deepcopy(node)
        new.op = OPERATORS[type(node.op)]()
        yield new
    elif isinstance(node, ast.BoolOp):
        new = copy.deepcopy(node)
        new.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield new
    elif isinstance(node, ast.UnaryOp):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        new = copy.deepcopy(node)
        if isinstance(node.value, bool):
            new.value = not node.value
        elif isinstance(node.value, int):
            new.value = node.value + 1
        else:
            new.value = 2.0 * node.value if node.value else 1.0
        yield new
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.copy_location(ast.Name(NAMES[node.id], node.ctx), node)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        new = copy.deepcopy(node)
        new.attr = NAMES[node.attr]
        yield new


def of_interest(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield (parent, field, index, expression) for all expressions but annotations and texts of errors."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list") or isinstance(tree, ast.Raise):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield tree, field, index, child
                yield from of_interest(child)


def put(parent: ast.AST, field: str, index: int | None, child: ast.AST) -> None:
    if index is None:
        setattr(parent, field, child)
    else:
        getattr(parent, field)[index] = child


def places(tree: ast.Module) -> list[tuple[ast.AST, str, int | None, ast.AST]]:
    """Return what may be changed; not docstrings, nor calls whose value nobody uses."""
    return [place for place in of_interest(tree) if not isinstance(place[0], ast.Expr)]


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module."""
    return [
        Mutant(module, node.lineno, ast.unparse(node), ast.unparse(new), number, choice)  # type: ignore[attr-defined]
        for number, (_, _, _, node) in enumerate(places(ast.parse(source)))
        for choice, new in enumerate(changes(node))
    ]


def changed(mutant: Mutant, source: str) -> ast.Module:
    """Return the changed program."""
    tree = ast.parse(source)
    if mutant.place >= 0:
        parent, field, index, node = places(tree)[mutant.place]
        put(parent, field, index, list(changes(node))[mutant.choice])
    return ast.fix_missing_locations(tree)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that gives the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for one module."""
        if name != self.mutant.module:
            return None
        file = str(file_of(name))
        return importlib.machinery.ModuleSpec(name, self, origin=file)

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        file = file_of(self.mutant.module)
        module.__file__ = str(file)
        tree = changed(self.mutant, file.read_text(encoding="utf-8"))
        exec(compile(tree, str(file), "exec"), module.__dict__)


def file_of(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


def run_tests(mutant: Mutant, tests: list[str]) -> int:
    """Run in a child: 0 if the mutant survives."""
    import pytest

    for name, module in list(sys.modules.items()):  # what the parent had imported of the project
        if str(getattr(module, "__file__", None)).startswith(f"{ROOT}/") and ".venv" not in str(
            module.__file__
        ):
            del sys.modules[name]
    sys.meta_path.insert(0, Changed(mutant))
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
    return int(pytest.main([*arguments, "-W", "ignore::RuntimeWarning", *tests]))


def start(mutant: Mutant) -> int:
    """Fork; return the child's process number."""
    child = os.fork()
    if child == 0:
        status = 1
        with open(os.devnull, "w") as sink, contextlib.suppress(BaseException):
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
            status = run_tests(mutant, TESTS[mutant.module])
        os._exit(1 if status else 0)
    return child


def judge(mutants: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, bool]]:
    """Run the mutants, some at a time; yield each with whether it survived."""
    waiting, running = list(reversed(mutants)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[start(mutant)] = mutant
        child, status = os.wait()
        if child in running:
            yield running.pop(child), status == 0


def preload() -> None:
    """Import the libraries once, in the process from which all others are forked."""
    for name in LIBRARIES:
        importlib.import_module(name)


def main() -> int:
    """Print the survivors; return 1 if the unchanged package fails its tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TESTS)}")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each module (20)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    preload()
    chosen: list[Mutant] = []
    unchanged: list[Mutant] = []
    for module in given.modules or TESTS:
        source = file_of(module).read_text(encoding="utf-8")
        unchanged.append(Mutant(module, 0, "", ""))
        every = mutants_of(module, source)
        picked = random.Random(given.seed).sample(every, min(given.sample, len(every)))
        print(f"{module}: {len(picked)} of {len(every)} mutants", flush=True)
        chosen += picked
    for mutant, survived in judge(unchanged, given.jobs):
        if not survived:
            print(f"{mutant.module}: the tests fail without any change", file=sys.stderr)
            return 1
    start_time, survivors = time.time(), []
    for mutant, survived in judge(chosen, given.jobs):
        if survived:
            survivors.append(mutant)
            place = f"{mutant.module}:{mutant.line}"
            print(f"survived  {place}  {mutant.before}  ->  {mutant.after}", flush=True)
    killed = len(chosen) - len(survivors)
    print(f"{killed} of {len(chosen)} killed in {time.time() - start_time:.0f} s")
    OUTPUT.parent.mkdir(exist_ok=True)
    rows = [dict(zip(("module", "line", "before", "after"), m[:4])) for m in survivors]
    OUTPUT.write_text(json.dumps({"mutants": len(chosen), "survivors": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
