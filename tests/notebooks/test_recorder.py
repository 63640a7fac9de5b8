"""The recorder of tests/notebooks/recorder.py sees every certified result, once, and is not fooled."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from companion.admm import solve_qp
from tests.notebooks.recorder import Recorder
from tools.notebooks import ROOT

SCRIPT = """
import sys
from pathlib import Path
from tests.notebooks import recorder

recorder.FOLDER = Path(sys.argv[1])
watch = recorder.install()
assert recorder.install() is watch

import numpy as np
from companion.admm import solve_qp
from companion.kernels import KernelPCA
from companion.regression import lasso_path
from companion.svm import SVMs1, SVMs2, dual_coordinate_ascent
from sklearn.model_selection import cross_val_score

y = np.where(np.arange(24) % 2, 1.0, -1.0)
X = np.random.default_rng(0).standard_normal((24, 2)) + y[:, None]
solve_qp(np.eye(2), [-1.0, 0.5])
watch.after_cell()
SVMs2(K=0.3).fit(X, y).predict(X)
SVMs1(K=0.3).fit_uv(X[y > 0], X[y < 0])
cross_val_score(SVMs2(), X, y, cv=3)
KernelPCA(1).fit(X)
watch.after_cell()
lasso_path(X, X[:, 0] + 0.1 * y, [3.0, 1.0, 0.3])
dual_coordinate_ascent(X, y)
watch.after_cell()
"""


@pytest.fixture
def problem():
    return solve_qp(np.eye(2), [-2.0, -0.5], [[1.0, 1.0]], [1.0], upper=1.0)


def verdicts(recorder: Recorder) -> list[str]:
    return [r["verdict"] for r in json.loads(recorder.file.read_text())["results"]]


def test_what_a_script_makes_is_seen_once(tmp_path: Path) -> None:
    environment = {"COMPANION_PAGE": "notebooks/a/b.ipynb", "PATH": "", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    found = json.loads((tmp_path / "notebooks.a.b.json").read_text())
    assert found["cells"] == 3
    assert {r["verdict"] for r in found["results"]} == {"ok"}
    kinds = [Counter(r["kind"] for r in found["results"] if r["cell"] == cell) for cell in range(3)]
    fits = {"SVMs2": 4, "SVMs1": 1, "KernelPCA": 1}  # not also the programs inside; three folds
    assert kinds == [{"QPResult": 1}, fits, {"L1Path": 3, "TrainingResult": 1}]


def test_false_and_unknown_results_are_reported(problem, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "page.json")
    G, q = np.random.default_rng(0).standard_normal((2, 9, 9))
    with pytest.warns(UserWarning, match="did not reach"):  # an honest failure is no lie
        unsolved = solve_qp(G @ G.T, q[0], q[1:4], q[1:4] @ np.ones(9), tol=1e-70)
    false, unknown = replace(problem, x=problem.x + 1e-6), replace(problem, problem=None)
    for result in (problem, unsolved, false, unknown, replace(problem, y="nonsense")):
        recorder.note(result)
    recorder.after_cell()
    *known, last = verdicts(recorder)
    assert known == ["ok", "not ok", "does not agree", "does not know its problem"]
    assert "Error" in last
