"""The digits that pages print do not depend on how many threads the BLAS uses.

Each run is a process of its own: OpenBLAS reads the number of threads when NumPy is imported. The problems are large
enough for OpenBLAS to share the work (it does so from about 100 x 100 on), and the sums then round differently; what a
page prints, six significant digits, must stay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import pytest

SCRIPT = """
import json
import warnings
import numpy as np
from threadpoolctl import threadpool_info
from companion.admm import basis_pursuit, group_lasso, lasso, least_absolute_deviations, solve_qp
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian, KernelPCA
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression, lasso_path
from companion.svm import (
    SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5, dual_coordinate_ascent, primal_newton,
    solve_indefinite,
)
from companion.svr import EpsilonSVR, NuSVR

rng = np.random.default_rng(0)
n, d = 320, 6
X = rng.standard_normal((n, d))
s = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1, -1)
y = X @ np.arange(d) + rng.standard_normal(n)
B = rng.standard_normal((n, n))
A = rng.standard_normal((150, n))
sparse = np.zeros(n)
sparse[:12] = rng.standard_normal(12)
raw, shown = {}, {}


def show(name, *numbers):
    values = np.concatenate([np.ravel(v) for v in numbers])
    raw[name] = [float(v).hex() for v in values]
    scale = np.abs(values).max()
    kept = np.where(np.abs(values) < 1e-7 * scale, 0.0, values)
    shown[name] = [f"{v + 0.0:.6g}" for v in kept]


qp = solve_qp(B @ B.T, rng.standard_normal(n), np.ones((1, n)), [1.0], upper=0.1)
show("quadratic program", qp.x, qp.objective)
for machine in (SVMs1(K=0.005), SVMs2(K=0.1), SVMs2prime(0.4), SVMs3(0.4), SVMs4(0.4), SVMs5(0.4)):
    machine.fit(X, s)
    show(type(machine).__name__, machine.w_, machine.b_)
    machine.set_params(kernel="rbf").fit(X, s)
    show(type(machine).__name__ + " Gaussian", machine.decision_function(X[:5]), machine.b_)
show("training", primal_newton(X, s).w, dual_coordinate_ascent(X, s, tol=1e-9).w)
with warnings.catch_warnings():  # a few of its thousands of steps are enough
    warnings.simplefilter("ignore", ConvergenceWarning)
    few = solve_indefinite(B[:120, :120] + B[:120, :120].T, s[:120], max_iter=200)
show("indefinite", few.objective)
for model in (NuSVR(C=2.0), EpsilonSVR(C=2.0)):
    model.fit(X, y)
    show(type(model).__name__, model.w_, model.b_, model.epsilon_)
    model.set_params(kernel="rbf").fit(X, y)
    show(type(model).__name__ + " Gaussian", model.predict(X[:5]), model.b_)
for model in (RidgeRegression(2.0), Lasso(tau=20.0), ElasticNet(tau=20.0, K=3.0)):
    model.fit(X, y)
    show(type(model).__name__, model.w_, model.b_)
show("KernelRidge", KernelRidge(0.5, kernel="rbf").fit(X, y).predict(X[:5]))
show("lasso path", lasso_path(A, A @ sparse, n_taus=5).w[:, :20])
pursuit, deviations = basis_pursuit(A, A @ sparse), least_absolute_deviations(A.T[:, :40], y)
show("basis pursuit", pursuit.z)
show("least absolute deviations", deviations.objective, deviations.x)
show("lasso", lasso(A, A @ sparse + 0.1, 5.0).z)
show("group lasso", group_lasso(A, A @ sparse + 0.1, np.arange(n) // 4, 5.0).z)
show("kernel PCA", KernelPCA(3, kernel=Gaussian()).fit(X).eigenvalues_)
threads = max((p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"), default=0)
print(json.dumps({"threads": threads, "raw": raw, "shown": shown}))
"""


def run(threads: int) -> dict:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


pytestmark = pytest.mark.slow  # two processes that draw and print much of the book


@pytest.fixture(scope="module")
def runs() -> dict[int, dict]:
    return {threads: run(threads) for threads in (1, 2)}


def test_printed_digits_are_the_same(runs: dict[int, dict]) -> None:
    one, two = (runs[threads]["shown"] for threads in (1, 2))
    assert len(one) > 25
    assert {name: one[name] for name in one if one[name] != two[name]} == {}


def test_the_second_run_had_two_threads(runs: dict[int, dict]) -> None:
    """Otherwise the test above compares a run with itself."""
    assert runs[1]["threads"] == 1
    if (os.cpu_count() or 1) < 2:
        warnings.warn("one processor: both runs had one thread", stacklevel=1)
    else:
        assert runs[2]["threads"] == 2
