"""The digits that a reader sees depend neither on the processor nor on how many threads the BLAS uses.

OpenBLAS picks the kernels of the processor that it finds, and they sum in different orders; OPENBLAS_CORETYPE picks
others. From about 100 x 100 on it shares the work, and the sums round differently; what a page prints, six significant
digits, must stay. For the notebooks ``make test-processor`` does the same.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import warnings

import pytest

EXAMPLES = """
import doctest, importlib, json, pkgutil, warnings
import companion
from threadpoolctl import threadpool_info

warnings.simplefilter("ignore")
printed = []


class Recorder(doctest.OutputChecker):
    def check_output(self, want, got, flags):
        printed.append((test.name, (want if "..." in want else got).split()))
        return True


finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(Recorder())
for module in pkgutil.walk_packages(companion.__path__, "companion."):
    for test in finder.find(importlib.import_module(module.name), module.name):
        runner.run(test, out=lambda text: None)
kernels = sorted(str(p.get("architecture")) for p in threadpool_info() if p["user_api"] == "blas")
print(json.dumps({"kernels": kernels, "printed": printed}))
"""

PROBLEMS = """
import json, warnings
import numpy as np
from threadpoolctl import threadpool_info
from companion import admm, kernels, regression, svm, svr

warnings.simplefilter("ignore")  # of the indefinite problem a few of its thousands of steps are enough
rng = np.random.default_rng(0)
n, d = 320, 6
X = rng.standard_normal((n, d))
s = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1, -1)
y = X @ np.arange(d) + rng.standard_normal(n)
B, A = rng.standard_normal((n, n)), rng.standard_normal((150, n))
b = A[:, :12] @ rng.standard_normal(12)
shown = {}


def show(name, *numbers):
    values = np.concatenate([np.ravel(v) for v in numbers])
    kept = np.where(np.abs(values) < 1e-7 * np.abs(values).max(), 0.0, values)
    shown[name] = [f"{v + 0.0:.6g}" for v in kept]


def show_fits(target, *models):
    for model in models:
        name = type(model).__name__
        model.fit(X, target)
        show(name, model.w_, model.b_)
        if hasattr(model, "kernel"):
            model.set_params(kernel="rbf").fit(X, target)
            answer = model.predict if target is y else model.decision_function
            show(name + " Gaussian", answer(X[:5]), model.b_)


qp = admm.solve_qp(B @ B.T, rng.standard_normal(n), np.ones((1, n)), [1.0], upper=0.1)
show("quadratic program", qp.x, qp.objective)
by_nu = svm.SVMs2prime(0.4), svm.SVMs3(0.4), svm.SVMs4(0.4), svm.SVMs5(0.4)
show_fits(s, svm.SVMs1(K=0.005), svm.SVMs2(K=0.1), *by_nu)
show("training", svm.primal_newton(X, s).w, svm.dual_coordinate_ascent(X, s, tol=1e-9).w)
show("indefinite", svm.solve_indefinite((B + B.T)[:120, :120], s[:120], max_iter=200).objective)
linear = regression.RidgeRegression(2.0), regression.Lasso(20.0), regression.ElasticNet(3.0, 20.0)
show_fits(y, svr.NuSVR(C=2.0), svr.EpsilonSVR(C=2.0), *linear)
show("KernelRidge", regression.KernelRidge(0.5, kernel="rbf").fit(X, y).predict(X[:5]))
show("lasso path", regression.lasso_path(A, b, n_taus=5).w[:, :20])
deviations = admm.least_absolute_deviations(A.T[:, :40], y)
show("least absolute deviations", deviations.objective, deviations.x)
show("basis pursuit", admm.basis_pursuit(A, b).z)
show("lasso", admm.lasso(A, b + 0.1, 5.0).z)
show("group lasso", admm.group_lasso(A, b + 0.1, np.arange(n) // 4, 5.0).z)
show("kernel PCA", kernels.KernelPCA(3, kernel="rbf").fit(X).eigenvalues_)
threads = max((p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"), default=0)
print(json.dumps({"threads": threads, "shown": shown}))
"""


def run(script: str, **environment: str) -> dict:
    inherited = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    command, env = [sys.executable, "-c", script], inherited | environment
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "darwin",
    reason="OPENBLAS_CORETYPE names kernels of x86-64, and Apple's NumPy has another BLAS",
)
def test_examples_print_the_same_with_the_plainest_kernels() -> None:
    here, there = run(EXAMPLES), run(EXAMPLES, OPENBLAS_CORETYPE="Prescott")
    if here["kernels"] == there["kernels"]:
        pytest.skip(f"this NumPy has no other kernels than {here['kernels']}")
    assert len(here["printed"]) > 300
    assert here["printed"] == there["printed"]


@pytest.mark.slow
def test_printed_digits_are_the_same_with_two_threads() -> None:
    """Had both runs one thread, a run would be compared with itself."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    one, two = (run(PROBLEMS, **dict.fromkeys(names, threads)) for threads in "12")
    assert len(one["shown"]) > 25
    assert [name for name in one["shown"] if one["shown"][name] != two["shown"][name]] == []
    assert one["threads"] == 1
    if (os.cpu_count() or 1) < 2:
        warnings.warn("one processor: both runs had one thread", stacklevel=1)
    else:
        assert two["threads"] == 2
