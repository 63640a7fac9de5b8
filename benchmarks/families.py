"""Times on families of ordinary shapes, against the solver that a reader would take instead.

Run ``python -m benchmarks families``; with ``--store`` the page "How fast is it" shows the new figures. Each problem is
solved by `companion` and by its peers, at their default tolerance and at a tight one, in turn, in one process, with one
thread. A row has the median of the CPU times and of the ratios in the same round (below 1: ours is faster). Estimators
start from the points, validation included. "error" compares what a reader takes from an answer: the decision function
or prediction at the points, relative to its largest value; or by how much the objective is off, relative to it.

A solver has failed where that error is more than ALLOWED times the tolerance it was asked for, or a run took more than
CAP seconds by the clock. :func:`priced` counts a failure as CAP seconds; :func:`targets` has the ratios that count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky
from scipy.optimize import linprog
from sklearn import linear_model, svm
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS, cpu_seconds, missing, shapes, store
from companion.admm import basis_pursuit, least_absolute_deviations, solve_qp
from companion.kernels import KernelPCA
from companion.regression import ElasticNet, KernelRidge, Lasso, tau_max
from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR
from companion.svr import NuSVR as OurNuSVR

LASSO = {"scikit-learn, gap safe": linear_model}  # where the classes Lasso and ElasticNet are
LIBSVM = {"libsvm": svm}
with suppress(ImportError):
    import celer

    LASSO["celer"] = celer
with suppress(ImportError):
    import skglm

    LASSO["skglm"] = skglm
with suppress(
    ImportError
):  # its classes, not its patch of scikit-learn: the others stay as they are
    import daal4py
    import daal4py.sklearn.linear_model
    import sklearnex.svm

    daal4py.daalinit(1)  # threads, which are no BLAS threads
    LASSO["sklearnex"], LIBSVM["sklearnex"] = daal4py.sklearn.linear_model, sklearnex.svm

CAP = 120.0  # seconds by the clock of a run
TIGHT = 1e-9
# default tolerances; those of libsvm and of its twin are 1e-3
CLAIMED = {
    "PIQP": 1e-8, "Clarabel": 1e-8, "OSQP": 1e-3, "DAQP": 1e-6, "scikit-learn, gap safe": 1e-4, "celer": 1e-4,
    "skglm": 1e-4, "HiGHS, simplex": 1e-7, "HiGHS, interior point": 1e-7,
}  # fmt: skip
ALLOWED = 100.0  # a tolerance is one of residuals, not of the error that a reader sees
SHIFT = 0.01  # seconds, of the geometric mean
PEERS = ("celer", "skglm", "osqp", "clarabel", "piqp", "daqp", "scikit-learn-intelex")
ONE_LEVEL = ("KernelRidge", "KernelPCA", "HiGHS", "libsvm + Cholesky")
PRICES = (0.01, 0.1, 1.0, 10.0, 100.0)
WIDTHS = (0.1, 1.0, 10.0)  # gamma, in units of 1/(d var X)
STEPS = 10**6  # of a method that need not reach a tolerance near its rounding

Run = Callable[[], Any]
Peer = Callable[[float | None], Any]  # solves at a tolerance, None for the default


@dataclass
class Problem:
    """One program with its solvers; `value` takes from an answer what a reader takes, an array or an objective."""

    family: str
    shape: str
    setting: str
    n: int
    ours: Run
    value: Callable[[Any], Any]
    peers: dict[str, Peer]
    accuracy: Callable[[Any], float] = field(default=lambda fitted: fitted.certificate_.worst)


def fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Run:
    return lambda: model.fit(X, y)


def by_class(kind: type, X: np.ndarray, y: np.ndarray, part: float = 1.0, **options: Any) -> Peer:
    """Return a class of scikit-learn's kind as a peer, with this part of the tolerance; the tight one may take long."""

    def solve(tolerance: float | None) -> Any:
        tight = {} if tolerance is None else {"tol": part * tolerance}
        if tight and not kind.__module__.startswith(("celer", "skglm")):
            tight["max_iter"] = STEPS
        return kind(**options, **tight).fit(X, y)

    return solve


# -- kernel machines


def by_libsvm(name: str, X: np.ndarray, y: np.ndarray, **options: Any) -> dict[str, Peer]:
    """Return the class with that name of scikit-learn, and of its accelerated twin."""
    rooms = LIBSVM if options["kernel"] != "precomputed" else {"libsvm": svm}  # it hands these over
    return {peer: by_class(getattr(room, name), X, y, **options) for peer, room in rooms.items()}


def with_cholesky(peer: Peer, K: np.ndarray, tolerance: float | None) -> Any:
    """Solve; and find out whether the matrix is positive semidefinite, without which an optimum is not proved."""
    cholesky(K + 1e-9 * np.eye(len(K)), overwrite_a=True)
    return peer(tolerance)


def decision(X: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Values at the points, free of the scale that the nu-machines choose; regressions have predictions."""
    some = np.linspace(0, len(X) - 1, min(len(X), 100)).astype(int)

    def values(model: Any) -> np.ndarray:
        if hasattr(model, "predict") and not hasattr(model, "classes_"):
            return model.predict(X[some])
        f = model.decision_function(X[some])
        return f / (np.abs(f).max() or 1.0)

    return values


def gaussian(X: np.ndarray, width: float) -> dict[str, Any]:
    gamma = width / (X.shape[1] * X.var())
    return {"gamma": gamma, "sigma": (0.5 / gamma) ** 0.5}


def machines() -> Iterator[Problem]:
    """C-SVM and nu-SVM with Gaussian, polynomial, linear and precomputed kernels; then s1, s3, s4, s5."""
    for name, X, y in shapes.two_classes():
        largest_nu = 2.0 * min((y > 0).sum(), (y < 0).sum()) / len(y)
        few = len(y) >= 3000  # one setting of the largest set
        settings = [(w, 1.0) for w in WIDTHS] + [(1.0, C) for C in PRICES if C != 1.0]
        for width, C in settings[1:2] if few else settings:
            rbf = gaussian(X, width)
            ours = {"kernel": "rbf", "kernel_params": {"sigma": rbf["sigma"]}}
            theirs = {"kernel": "rbf", "gamma": rbf["gamma"]}
            text = f"width {width:g}, C = {C:g}"
            yield Problem(
                "C-SVM, Gaussian", name, text, len(y), fitted(SVMs2(K=C, **ours), X, y), decision(X),
                by_libsvm("SVC", X, y, C=C, **theirs),
            )  # fmt: skip
            if C == 1.0:
                for nu in (0.3, 0.6):
                    if nu < largest_nu:
                        yield Problem(
                            "nu-SVM, Gaussian", name, f"width {width:g}, nu = {nu:g}", len(y),
                            fitted(SVMs2prime(nu=nu, **ours), X, y), decision(X),
                            by_libsvm("NuSVC", X, y, nu=nu, **theirs),
                        )  # fmt: skip
        K = rbf_kernel(X, gamma=gaussian(X, 1.0)["gamma"])
        for C in (1.0,) if few else (0.1, 1.0, 100.0):
            theirs = by_libsvm("SVC", K, y, C=C, kernel="precomputed")
            yield Problem(
                "C-SVM, precomputed", name, f"C = {C:g}", len(y),
                fitted(SVMs2(K=C, kernel="precomputed"), K, y), decision(K),
                {**theirs, "libsvm + Cholesky": partial(with_cholesky, theirs["libsvm"], K)},
            )  # fmt: skip
        if few:
            continue
        Z = X / np.abs(X).max()
        cubic = {"degree": 3, "gamma": 1.0, "coef0": 1.0}
        poly = {"kernel": "poly", "kernel_params": cubic}
        for C in (1.0, 100.0):
            yield Problem(
                "C-SVM, cubic", name, f"C = {C:g}", len(y),
                fitted(SVMs2(K=C, **poly), Z, y), decision(Z),
                by_libsvm("SVC", Z, y, C=C, kernel="poly", **cubic),
            )  # fmt: skip
        for C in PRICES[::2]:
            yield Problem(
                "C-SVM, linear", name, f"C = {C:g}", len(y), fitted(SVMs2(K=C), X, y), decision(X),
                by_libsvm("SVC", X, y, C=C, kernel="linear"),
            )  # fmt: skip
        if largest_nu > 0.5:
            yield Problem(
                "nu-SVM, linear", name, "nu = 0.5", len(y), fitted(SVMs2prime(nu=0.5), X, y), decision(X),
                by_libsvm("NuSVC", X, y, nu=0.5, kernel="linear"),
            )  # fmt: skip
            yield from others(name, X, y)


def others(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Problem]:
    """(SVM_s1), (SVM_s3), (SVM_s4), (SVM_s5) with a Gaussian kernel, and the libsvm class that has the same program.

    (SVM_s3) and (SVM_s5) have the one equation 1'a = K_m: libsvm's one-class program on a matrix with ss' in it.
    """
    n, nu, rbf = len(y), 0.4, gaussian(X, 1.0)
    ours = {"kernel": "rbf", "kernel_params": {"sigma": rbf["sigma"]}}

    def one_class(ridge: float, share: float) -> dict[str, Peer]:
        def solve(tolerance: float | None) -> Any:
            Q = np.outer(y, y) * (rbf_kernel(X, gamma=rbf["gamma"]) + 1.0)
            Q.flat[:: n + 1] += ridge
            return by_class(svm.OneClassSVM, Q, y, kernel="precomputed", nu=share)(tolerance)

        return {"libsvm": solve}

    def with_ridge(tolerance: float | None) -> Any:
        K = rbf_kernel(X, gamma=rbf["gamma"])
        K.flat[:: n + 1] += n / 2.0
        return by_class(svm.NuSVC, K, y, kernel="precomputed", nu=2.0 / n)(tolerance)

    none = lambda answer: np.zeros(0)  # noqa: E731  (other scales, other attributes: only the times are compared)
    nu_svc = by_libsvm("NuSVC", X, y, nu=nu, kernel="rbf", gamma=rbf["gamma"])
    for machine, peers in (
        (SVMs1(K=1.0 / (nu * n), **ours), nu_svc),
        (SVMs3(nu=nu, **ours), one_class(0.0, nu)),
        (SVMs4(nu=nu, **ours), {"libsvm": with_ridge}),
        (SVMs5(nu=nu, **ours), one_class(n / 2.0, 1.0 / n)),
    ):
        family = f"{type(machine).__name__}, Gaussian"
        yield Problem(family, name, f"nu = {nu:g}", n, fitted(machine, X, y), none, peers)


def tubes() -> Iterator[Problem]:
    """Support vector regression: nu and eps, Gaussian and linear; kernel ridge regression, kernel PCA."""
    for name, X, y in shapes.targets():
        m = len(y)
        for width in WIDTHS:
            rbf = gaussian(X, width)
            ours = {"kernel": "rbf", "kernel_params": {"sigma": rbf["sigma"]}}
            theirs = {"kernel": "rbf", "gamma": rbf["gamma"]}
            for C in (1.0, 30.0) if width == 1.0 else (1.0,):
                text = f"width {width:g}, C = {C:g}"
                yield Problem(
                    "nu-SVR, Gaussian", name, f"{text}, nu = 0.4", m,
                    fitted(OurNuSVR(nu=0.4, C=C * m, **ours), X, y), decision(X),
                    by_libsvm("NuSVR", X, y, nu=0.4, C=C, **theirs),
                )  # fmt: skip
                yield Problem(
                    "eps-SVR, Gaussian", name, f"{text}, eps = 0.1", m,
                    fitted(EpsilonSVR(epsilon=0.1, C=C * m, **ours), X, y), decision(X),
                    by_libsvm("SVR", X, y, epsilon=0.1, C=C, **theirs),
                )  # fmt: skip
            yield Problem(
                "kernel ridge regression", name, f"width {width:g}", m, fitted(KernelRidge(K=0.1, **ours), X, y),
                decision(X), {"KernelRidge": by_class(TheirKernelRidge, X, y, alpha=0.1, **theirs)},
                accuracy=lambda model: 0.0,
            )  # fmt: skip
            yield Problem(
                "kernel PCA", name, f"width {width:g}", m,
                lambda X=X, o=ours: KernelPCA(3, **o).fit(X), lambda model: model.eigenvalues_[:3],
                {"KernelPCA": by_class(TheirKernelPCA, X, y, n_components=3, **theirs)},
                accuracy=lambda model: 0.0,
            )  # fmt: skip
        for C in (0.1, 10.0):
            yield Problem(
                "nu-SVR, linear", name, f"C = {C:g}, nu = 0.4", m, fitted(OurNuSVR(nu=0.4, C=C * m), X, y),
                decision(X), by_libsvm("NuSVR", X, y, nu=0.4, C=C, kernel="linear"),
            )  # fmt: skip


# -- programs


def certified(result: Any) -> float:
    return result.certificate.worst


def by_piqp(p: shapes.Program, tolerance: float | None) -> Any:
    import piqp

    solver, n = piqp.DenseSolver(), p.q.size
    if tolerance is not None:
        solver.settings.eps_abs, solver.settings.eps_rel = 1e-3 * tolerance, tolerance
    solver.setup(p.P, p.q, p.A, p.b, x_l=np.full(n, p.lower), x_u=np.full(n, p.upper))
    solver.solve()
    return solver.result.x


def by_daqp(p: shapes.Program, tolerance: float | None) -> Any:
    import daqp

    n, tight = (
        p.q.size,
        {} if tolerance is None else {"primal_tol": tolerance, "dual_tol": tolerance},
    )
    low, high = np.r_[np.full(n, p.lower), p.b], np.r_[np.full(n, p.upper), p.b]
    sense = np.repeat([0, 5], [n, p.b.size]).astype(np.int32)  # 5: an equation
    return daqp.solve(p.P, p.q, p.A, high, low, sense, **tight)[0]


def by_clarabel(p: shapes.Program, tolerance: float | None) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if tolerance is not None:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    n, one = p.q.size, sparse.eye(p.q.size)
    rows = sparse.vstack([sparse.csc_matrix(p.A), one, -one], format="csc")
    right = np.r_[p.b, np.full(n, p.upper), np.full(n, -p.lower)]
    cones = [clarabel.ZeroConeT(p.b.size), clarabel.NonnegativeConeT(2 * n)]
    P = sparse.csc_matrix(np.triu(p.P))
    return np.array(clarabel.DefaultSolver(P, p.q, rows, right, cones, settings).solve().x)


def by_osqp(p: shapes.Program, tolerance: float | None) -> Any:
    import osqp

    tight = {} if tolerance is None else {
        "eps_abs": tolerance, "eps_rel": tolerance, "max_iter": 20_000, "polishing": True}  # fmt: skip
    n, solver = p.q.size, osqp.OSQP()
    rows = sparse.vstack([sparse.csc_matrix(p.A), sparse.eye(n)], format="csc")
    low, high = np.r_[p.b, np.full(n, p.lower)], np.r_[p.b, np.full(n, p.upper)]
    solver.setup(sparse.csc_matrix(np.triu(p.P)), p.q, rows, low, high, verbose=False, **tight)
    return solver.solve(raise_error=False).x


QP_SOLVERS = {"PIQP": by_piqp, "DAQP": by_daqp, "Clarabel": by_clarabel, "OSQP": by_osqp}


def quadratic_programs() -> Iterator[Problem]:
    absent = missing(name.lower() for name in QP_SOLVERS)
    makers = {name: solve for name, solve in QP_SOLVERS.items() if name.lower() not in absent}
    for kind in ("dense", "low rank", "graded", "portfolio"):
        for p in shapes.programs(kind):

            def value(answer: Any, p: shapes.Program = p) -> float:
                x = np.asarray(getattr(answer, "x", answer))
                miss = max(
                    np.abs(p.A @ x - p.b).max(), (p.lower - x).max(), (x - p.upper).max(), 0.0
                )
                return float(0.5 * x @ p.P @ x + p.q @ x) + miss * float(np.abs(p.q).sum())

            yield Problem(
                f"quadratic program, {kind}", p.name, "", p.q.size,
                lambda p=p: solve_qp(p.P, p.q, p.A, p.b, lower=p.lower, upper=p.upper), value,
                {name: partial(solve, p) for name, solve in makers.items()}, certified,
            )  # fmt: skip


def sparse_regressions() -> Iterator[Problem]:
    """The lasso and the elastic net (K = tau/2), with a free intercept, at two shares of the largest tau."""
    for name, X, y in shapes.designs():
        m, top = len(y), tau_max(X, y)
        for share in (0.1, 0.01):
            for family, K in (("lasso", 0.0), ("elastic net", 0.5 * share * top)):
                tau = share * top
                options = {"alpha": (tau + K) / m} | ({"l1_ratio": tau / (tau + K)} if K else {})
                kinds = {
                    n: getattr(room, "ElasticNet" if K else "Lasso") for n, room in LASSO.items()
                }

                def value(
                    model: Any, K: float = K, tau: float = tau, X: np.ndarray = X, y: np.ndarray = y
                ) -> float:
                    w = np.asarray(model.w_ if hasattr(model, "w_") else model.coef_)
                    r = (y - y.mean()) - (X - X.mean(axis=0)) @ w
                    return float(0.5 * r @ r + 0.5 * K * w @ w + tau * np.abs(w).sum())

                yield Problem(
                    family, name, f"{share:g} of the largest tau", max(X.shape),
                    fitted(ElasticNet(K=K, tau=tau) if K else Lasso(tau=tau), X, y), value,
                    {n: by_class(kind, X, y, 0.1, **options) for n, kind in kinds.items()},
                )  # fmt: skip


def linear_programs() -> Iterator[Problem]:
    """Least absolute deviations and basis pursuit; HiGHS is SciPy's, with the simplex method or interior points."""

    def highs(solve: Callable[[str], Any]) -> dict[str, Peer]:
        return {
            "HiGHS, simplex": lambda t: solve("highs-ds"),
            "HiGHS, interior point": lambda t: solve("highs-ipm"),
        }

    for name, A, b in shapes.lines():

        def dual(method: str, A: np.ndarray = A, b: np.ndarray = b) -> Any:
            answer = linprog(
                -b, A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=(-1.0, 1.0), method=method
            )
            return -answer.eqlin.marginals

        def loss(answer: Any, A: np.ndarray = A, b: np.ndarray = b) -> float:
            return float(np.abs(A @ np.asarray(getattr(answer, "x", answer)) - b).sum())

        ours = lambda A=A, b=b: least_absolute_deviations(A, b)  # noqa: E731
        yield Problem(
            "least absolute deviations", name, "", len(b), ours, loss, highs(dual), certified
        )
    for name, A, b in shapes.underdetermined():

        def split(method: str, A: np.ndarray = A, b: np.ndarray = b) -> Any:
            n = A.shape[1]
            x = linprog(np.ones(2 * n), A_eq=np.hstack([A, -A]), b_eq=b, method=method).x
            return x[:n] - x[n:]

        norm = lambda answer: float(np.abs(np.asarray(getattr(answer, "z", answer))).sum())  # noqa: E731
        ours = lambda A=A, b=b: basis_pursuit(A, b)  # noqa: E731
        yield Problem("basis pursuit", name, "", A.shape[1], ours, norm, highs(split), certified)


GROUPS: dict[str, Callable[[], Iterator[Problem]]] = {
    "machines": machines,
    "tubes": tubes,
    "programs": quadratic_programs,
    "sparse": sparse_regressions,
    "linear": linear_programs,
}


# -- running them


class OverTheCap(BaseException):
    """A run took more than CAP seconds."""


def capped(run: Run) -> tuple[float, Any]:
    """Return the CPU seconds of a run and its answer; CAP and None if it takes longer than that.

    A timer of CPU time would make the clock of CPU time as coarse as the scheduler's tick.
    """

    def stop(*_: Any) -> None:
        raise OverTheCap

    answer: list[Any] = []
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, CAP)
    try:
        return cpu_seconds(lambda: answer.append(run())), answer[0]
    except OverTheCap:
        return CAP, None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def rounds_for(seconds: float) -> int:
    return 5 if seconds < 0.03 else 3 if seconds < 0.3 else 1


def measure(p: Problem) -> list[dict[str, Any]]:
    """Return a row for each peer and tolerance; the first round warms up, unless it takes long."""
    runs = {("companion", "ours"): p.ours}
    for name, peer in p.peers.items():
        runs[name, "default"] = partial(peer, None)
        if not name.startswith(ONE_LEVEL):
            runs[name, "tight"] = partial(peer, TIGHT)
    first = {key: capped(run) for key, run in runs.items()}
    answers = {key: answer for key, (_, answer) in first.items()}
    rounds = {key: rounds_for(seconds) for key, (seconds, _) in first.items()}
    times = {key: [first[key][0]] if rounds[key] == 1 else [] for key in runs}
    for k in range(max(rounds.values())):
        for key, run in runs.items():
            if rounds[key] > 1 and k < rounds[key]:
                times[key].append(capped(run)[0])
    own = times["companion", "ours"]
    best = None if answers["companion", "ours"] is None else p.value(answers["companion", "ours"])
    rows = []
    for key, theirs in times.items():
        if key[0] == "companion":
            continue
        pairs = zip(own, theirs) if len(own) == len(theirs) else [(median(own), median(theirs))]
        rows.append({
            "family": p.family, "shape": p.shape, "setting": p.setting, "n": p.n, "peer": key[0], "level": key[1],
            "ours_ms": round(1e3 * median(own), 4), "peer_ms": round(1e3 * median(theirs), 4),
            "ratio": float(f"{median(a / b for a, b in pairs):.4g}"),
            "our_error": accuracy(p, answers["companion", "ours"]),
            "peer_error": difference(p, answers[key], best),
            "capped": max(own) >= CAP,
        })  # fmt: skip
    return rows


def accuracy(p: Problem, answer: Any) -> float | None:
    return None if answer is None else float(f"{p.accuracy(answer):.1e}")


def difference(p: Problem, answer: Any, best: Any) -> float | None:
    """Return by how much a peer's answer differs from ours, relatively."""
    if answer is None or best is None or np.size(best) == 0:
        return None
    value = np.asarray(p.value(answer))
    return float(f"{np.abs(value - best).max() / (np.abs(best).max() or 1.0):.1e}")


def imports(rounds: int = 3) -> dict[str, Any]:
    """Return what the import of our machines costs beside that of scikit-learn's, each in a new process."""

    def seconds(module: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    ratio = median(seconds("companion.svm") / seconds("sklearn.svm") for _ in range(rounds))
    return {
        "family": "import", "shape": "companion.svm", "setting": "", "n": 1, "peer": "sklearn.svm",
        "level": "default", "ratio": ratio,
    }  # fmt: skip


# -- what the rows say


def failed(row: dict[str, Any], ours: bool = False) -> bool:
    """Return whether an answer is not as near to the solution as its solver's tolerance lets a reader expect."""
    error = row["our_error" if ours else "peer_error"]
    if ours:
        return error is None or error > TIGHT
    claimed = TIGHT if row["level"] == "tight" else CLAIMED.get(row["peer"], 1e-3)
    return error is None or error > ALLOWED * claimed


def priced(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return failures and shifted geometric means of the times for each solver and kind of problem, as SCS's page does.

    A failure counts as CAP seconds. Means are those of the problems that all solvers of a kind were run on. Kinds
    without a tolerance, or whose answers are not compared, are left out.
    """
    runs: dict[tuple[str, str, str], dict[tuple[str, str], tuple[float, bool]]] = {}
    compared = {r["family"] for r in rows if r["peer_error"] is not None}
    for r in rows:
        kind, problem = r["family"].split(",")[0], (r["family"] + r["shape"], r["setting"])
        if r["family"] in compared and not r["peer"].startswith(("Kernel", "libsvm + ")):
            ours = runs.setdefault((kind, "companion", r["level"]), {})
            ours[problem] = r["ours_ms"], failed(r, ours=True)
            theirs = runs.setdefault((kind, r["peer"], r["level"]), {})
            theirs[problem] = r["peer_ms"], failed(r)
    found = []
    for (kind, solver, level), times in runs.items():
        common = set(times).intersection(*(each for key, each in runs.items() if key[0] == kind))
        seconds = [CAP if times[key][1] else 1e-3 * times[key][0] for key in common]
        mean = np.exp(np.log(np.array(seconds) + SHIFT).mean()) - SHIFT
        fails = sum(times[key][1] for key in common)
        found.append({
            "kind": kind, "solver": solver, "level": level, "problems": len(common), "failed": fails,
            "mean_ms": float(f"{1e3 * mean:.4g}"),
        })  # fmt: skip
    return found


ALL, FEW, MANY = (1, 10**9), (1, 50), (200, 10**9)  # points or variables
TARGETS = (  # family, peer (None: the fastest), level, sizes, at most in the mean and at worst
    ("C-SVM, Gaussian", "libsvm", "default", ALL, 1.5, 2.0),
    ("nu-SVM, Gaussian", "libsvm", "default", ALL, 1.5, 2.0),
    ("nu-SVR, Gaussian", "libsvm", "default", ALL, 1.6, None),
    ("C-SVM, linear", "libsvm", "default", ALL, 0.8, 2.0),
    ("nu-SVM, linear", "libsvm", "default", ALL, 0.8, 2.0),
    ("nu-SVR, linear", "libsvm", "default", ALL, 0.8, 2.0),
    ("C-SVM, precomputed", "libsvm + Cholesky", "default", ALL, 1.0, 1.0),
    ("quadratic program", "PIQP", "default", FEW, 4.0, None),
    ("quadratic program", "PIQP", "default", MANY, 1.5, None),
    ("lasso", None, "default", ALL, 1.2, None),
    ("lasso", None, "tight", ALL, 1.0, None),
    ("import", "sklearn.svm", "default", ALL, 1.15, None),
)


def targets(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each target of the project the geometric mean of the ratios, the largest one, and on which problem.

    Runs in which the peer failed are counted, and left out: a ratio to the time of a wrong answer says nothing.
    """
    found = []
    for family, peer, level, (low, high), mean, worst in TARGETS:
        ratios, fails = dict[tuple[str, str], float](), 0
        for r in rows:
            mine = r["family"].startswith(family) and r["level"] == level and low <= r["n"] <= high
            if not mine or peer not in (None, r["peer"]):
                continue
            if r["peer"] != "sklearn.svm" and failed(r):
                fails += 1
                continue
            key = r["shape"], r["setting"]
            ratios[key] = max(r["ratio"], ratios.get(key, 0.0))
        if ratios:
            middle = float(np.exp(np.mean(np.log(list(ratios.values())))))
            at = max(ratios, key=lambda key: ratios[key])
            found.append({
                "family": family, "peer": peer, "level": level, "least": low, "most": high, "problems": len(ratios),
                "failed": fails, "mean": middle, "mean_at_most": mean, "worst": ratios[at], "worst_at_most": worst,
                "worst_at": ", ".join(filter(None, at)),
                "met": middle <= mean and ratios[at] <= (worst or np.inf),
            })  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--largest", type=int, default=10**9, help="leave out larger problems")
    text = "write benchmarks/results/families.json, where the problems that were left out stay as they are"
    parser.add_argument("--store", action="store_true", help=text)
    arguments = parser.parse_args()
    rows, imported = list[dict[str, Any]](), imports()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for p in chain.from_iterable(GROUPS[name]() for name in arguments.groups or GROUPS):
            for r in measure(p) if p.n <= arguments.largest else ():
                rows.append(r)
                print(*(f"{r[key]:9.2f}" for key in ("ratio", "ours_ms", "peer_ms")), end="  ")
                told = [r[key] for key in ("family", "shape", "setting", "n", "peer", "level")]
                print(*told, r["our_error"], r["peer_error"], sep=", ", flush=True)
    known = {(r["family"], r["shape"], r["setting"]) for r in rows}
    stored = json.loads((RESULTS / "families.json").read_text())["rows"]
    rows += [r for r in stored if (r["family"], r["shape"], r["setting"]) not in known]
    order = [(p.family, p.shape, p.setting) for group in GROUPS.values() for p in group()]
    rows.sort(key=lambda r: order.index((r["family"], r["shape"], r["setting"])))
    reached = targets([*rows, imported])
    for each in reached:
        print(each)
    if arguments.store:
        more = {"missing": missing(PEERS), "cap": CAP, "load": os.getloadavg()[2]}
        store("families", rows, targets=reached, priced=priced(rows), **more)


if __name__ == "__main__":
    main()
