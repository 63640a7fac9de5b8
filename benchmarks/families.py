"""Times on families of ordinary shapes, against the solver that a reader would take instead.

Run ``python -m benchmarks families``; with ``--store`` the page "How fast is it" shows the new figures. Each problem is
solved by `companion` and by its peers, at their default tolerance and at a tight one, in turn, in one process, with one
BLAS thread. A row has the median of the CPU times and of the ratios in the same round (below 1: ours is faster).
Estimators start from the points, validation included. "error" compares what a reader takes from an answer: the
decision function or prediction at the points, relative to its largest value; or by how much the objective is above the
best one, relative to it. A run of more than CAP seconds by the clock is interrupted and counts as CAP.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn import linear_model
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from threadpoolctl import threadpool_limits

from benchmarks import cpu_seconds, missing, shapes, store
from companion.admm import basis_pursuit, least_absolute_deviations, solve_qp
from companion.kernels import KernelPCA
from companion.regression import ElasticNet, KernelRidge, Lasso, tau_max
from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR
from companion.svr import NuSVR as OurNuSVR

CAP = 120.0  # seconds by the clock of a run
TIGHT = 1e-9
PEERS = ("celer", "skglm", "osqp", "clarabel", "piqp")
PRICES = (0.01, 0.1, 1.0, 10.0, 100.0)
WIDTHS = (0.1, 1.0, 10.0)  # gamma, in units of 1/(d var X)
STEPS = 10**6  # of libsvm, which need not reach a tolerance near its single precision

Run = Callable[[], Any]


@dataclass
class Problem:
    """One program with its solvers; `value` takes from an answer what a reader takes, an array or an objective."""

    family: str
    shape: str
    setting: str
    n: int
    ours: Run
    value: Callable[[Any], Any]
    peers: dict[
        str, Callable[[float | None], Run]
    ]  # name: the run at a tolerance, None for the default
    accuracy: Callable[[Any], float] = field(default=lambda fitted: fitted.certificate_.worst)


def fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Run:
    return lambda: model.fit(X, y)


# -- kernel machines


def by_libsvm(
    kind: type, X: np.ndarray, y: np.ndarray, **options: Any
) -> Callable[[float | None], Run]:
    """Return the class of scikit-learn at a tolerance; the tight one has a cap on its steps."""

    def run(tolerance: float | None) -> Run:
        tight = {} if tolerance is None else {"tol": tolerance, "max_iter": STEPS}
        return fitted(kind(cache_size=500, **options, **tight), X, y)

    return run


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
                {"SVC": by_libsvm(SVC, X, y, C=C, **theirs)},
            )  # fmt: skip
            if C == 1.0:
                for nu in (0.3, 0.6):
                    if nu < largest_nu:
                        yield Problem(
                            "nu-SVM, Gaussian", name, f"width {width:g}, nu = {nu:g}", len(y),
                            fitted(SVMs2prime(nu=nu, **ours), X, y), decision(X),
                            {"NuSVC": by_libsvm(NuSVC, X, y, nu=nu, **theirs)},
                        )  # fmt: skip
        K = rbf_kernel(X, gamma=gaussian(X, 1.0)["gamma"])
        for C in (1.0,) if few else (0.1, 1.0, 100.0):
            yield Problem(
                "C-SVM, precomputed", name, f"C = {C:g}", len(y),
                fitted(SVMs2(K=C, kernel="precomputed"), K, y), decision(K),
                {"SVC": by_libsvm(SVC, K, y, C=C, kernel="precomputed")},
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
                {"SVC": by_libsvm(SVC, Z, y, C=C, kernel="poly", **cubic)},
            )  # fmt: skip
        for C in PRICES[::2]:
            yield Problem(
                "C-SVM, linear", name, f"C = {C:g}", len(y), fitted(SVMs2(K=C), X, y), decision(X),
                {"SVC": by_libsvm(SVC, X, y, C=C, kernel="linear")},
            )  # fmt: skip
        if largest_nu > 0.5:
            yield Problem(
                "nu-SVM, linear", name, "nu = 0.5", len(y), fitted(SVMs2prime(nu=0.5), X, y), decision(X),
                {"NuSVC": by_libsvm(NuSVC, X, y, nu=0.5, kernel="linear")},
            )  # fmt: skip
            yield from others(name, X, y)


def others(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Problem]:
    """(SVM_s1), (SVM_s3), (SVM_s4), (SVM_s5) with a Gaussian kernel, and the libsvm class that has the same program.

    (SVM_s3) and (SVM_s5) have the one equation 1'a = K_m: libsvm's one-class program on a matrix with ss' in it.
    """
    n, nu, rbf = len(y), 0.4, gaussian(X, 1.0)
    ours = {"kernel": "rbf", "kernel_params": {"sigma": rbf["sigma"]}}

    def one_class(ridge: float, share: float) -> Callable[[float | None], Run]:
        def run(tolerance: float | None) -> Run:
            tight = {} if tolerance is None else {"tol": tolerance, "max_iter": STEPS}

            def solve() -> Any:
                Q = np.outer(y, y) * (rbf_kernel(X, gamma=rbf["gamma"]) + 1.0)
                Q.flat[:: n + 1] += ridge
                return OneClassSVM(kernel="precomputed", nu=share, cache_size=500, **tight).fit(Q)

            return solve

        return run

    def with_ridge(tolerance: float | None) -> Run:
        tight = {} if tolerance is None else {"tol": tolerance, "max_iter": STEPS}

        def solve() -> Any:
            K = rbf_kernel(X, gamma=rbf["gamma"])
            K.flat[:: n + 1] += n / 2.0
            return NuSVC(kernel="precomputed", nu=2.0 / n, cache_size=500, **tight).fit(K, y)

        return solve

    none = lambda answer: np.zeros(0)  # noqa: E731  (other scales, other attributes: only the times are compared)
    nu_svc = by_libsvm(NuSVC, X, y, nu=nu, kernel="rbf", gamma=rbf["gamma"])
    for machine, peers in (
        (SVMs1(K=1.0 / (nu * n), **ours), {"NuSVC": nu_svc}),
        (SVMs3(nu=nu, **ours), {"OneClassSVM": one_class(0.0, nu)}),
        (SVMs4(nu=nu, **ours), {"NuSVC": with_ridge}),
        (SVMs5(nu=nu, **ours), {"OneClassSVM": one_class(n / 2.0, 1.0 / n)}),
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
                    {"NuSVR": by_libsvm(NuSVR, X, y, nu=0.4, C=C, **theirs)},
                )  # fmt: skip
                yield Problem(
                    "eps-SVR, Gaussian", name, f"{text}, eps = 0.1", m,
                    fitted(EpsilonSVR(epsilon=0.1, C=C * m, **ours), X, y), decision(X),
                    {"SVR": by_libsvm(SVR, X, y, epsilon=0.1, C=C, **theirs)},
                )  # fmt: skip
            ridge = TheirKernelRidge(alpha=0.1, **theirs)
            yield Problem(
                "kernel ridge regression", name, f"width {width:g}", m, fitted(KernelRidge(K=0.1, **ours), X, y),
                decision(X), {"KernelRidge": lambda t, r=ridge, X=X, y=y: fitted(r, X, y)},
                accuracy=lambda model: 0.0,
            )  # fmt: skip
            yield Problem(
                "kernel PCA", name, f"width {width:g}", m,
                lambda X=X, o=ours: KernelPCA(3, **o).fit(X), lambda model: model.eigenvalues_[:3],
                {"KernelPCA": lambda t, X=X, o=theirs: lambda: TheirKernelPCA(3, **o).fit(X)},
                accuracy=lambda model: 0.0,
            )  # fmt: skip
        for C in (0.1, 10.0):
            yield Problem(
                "nu-SVR, linear", name, f"C = {C:g}, nu = 0.4", m, fitted(OurNuSVR(nu=0.4, C=C * m), X, y),
                decision(X), {"NuSVR": by_libsvm(NuSVR, X, y, nu=0.4, C=C, kernel="linear")},
            )  # fmt: skip


# -- programs


def certified(result: Any) -> float:
    return result.certificate.worst


def by_piqp(p: shapes.Program) -> Callable[[float | None], Run]:
    import piqp

    def run(tolerance: float | None) -> Run:
        def solve() -> Any:
            solver, n = piqp.DenseSolver(), p.q.size
            if tolerance is not None:
                solver.settings.eps_abs, solver.settings.eps_rel = 1e-3 * tolerance, tolerance
            solver.setup(p.P, p.q, p.A, p.b, x_l=np.full(n, p.lower), x_u=np.full(n, p.upper))
            solver.solve()
            return solver.result.x

        return solve

    return run


def by_clarabel(p: shapes.Program) -> Callable[[float | None], Run]:
    import clarabel
    from scipy import sparse

    def run(tolerance: float | None) -> Run:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        if tolerance is not None:
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance

        def solve() -> Any:
            n, one = p.q.size, sparse.eye(p.q.size)
            rows = sparse.vstack([sparse.csc_matrix(p.A), one, -one], format="csc")
            right = np.r_[p.b, np.full(n, p.upper), np.full(n, -p.lower)]
            cones = [clarabel.ZeroConeT(p.b.size), clarabel.NonnegativeConeT(2 * n)]
            P = sparse.csc_matrix(np.triu(p.P))
            return np.array(clarabel.DefaultSolver(P, p.q, rows, right, cones, settings).solve().x)

        return solve

    return run


def by_osqp(p: shapes.Program) -> Callable[[float | None], Run]:
    import osqp
    from scipy import sparse

    def run(tolerance: float | None) -> Run:
        tight = {"eps_abs": 1e-3, "eps_rel": 1e-3} if tolerance is None else {
            "eps_abs": tolerance, "eps_rel": tolerance, "max_iter": 20_000, "polishing": True}  # fmt: skip

        def solve() -> Any:
            n, solver = p.q.size, osqp.OSQP()
            rows = sparse.vstack([sparse.csc_matrix(p.A), sparse.eye(n)], format="csc")
            low, high = np.r_[p.b, np.full(n, p.lower)], np.r_[p.b, np.full(n, p.upper)]
            solver.setup(
                sparse.csc_matrix(np.triu(p.P)), p.q, rows, low, high, verbose=False, **tight
            )
            return solver.solve(raise_error=False).x

        return solve

    return run


def quadratic_programs() -> Iterator[Problem]:
    absent = missing(PEERS)
    makers = {"PIQP": by_piqp, "Clarabel": by_clarabel, "OSQP": by_osqp}
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
                {name: make(p) for name, make in makers.items() if name.lower() not in absent}, certified,
            )  # fmt: skip


def sparse_regressions() -> Iterator[Problem]:
    """The lasso and the elastic net (K = tau/2), with a free intercept, at two shares of the largest tau."""
    absent = missing(PEERS)
    for name, X, y in shapes.designs():
        m, top = len(y), tau_max(X, y)
        for share in (0.1, 0.01):
            for family, K in (("lasso", 0.0), ("elastic net", 0.5 * share * top)):
                tau = share * top
                ratio = tau / (tau + K)
                options = {"alpha": (tau + K) / m} | ({"l1_ratio": ratio} if K else {})
                makers = {"scikit-learn": linear_model.ElasticNet if K else linear_model.Lasso}
                if "celer" not in absent:
                    import celer

                    makers["celer"] = celer.ElasticNet if K else celer.Lasso
                if "skglm" not in absent:
                    import skglm

                    makers["skglm"] = skglm.ElasticNet if K else skglm.Lasso

                def peer(
                    tolerance: float | None,
                    kind: type,
                    o: dict,
                    X: np.ndarray = X,
                    y: np.ndarray = y,
                ) -> Run:
                    tight = {} if tolerance is None else {"tol": 0.1 * tolerance}
                    if tolerance is not None and kind.__module__.startswith("sklearn"):
                        tight["max_iter"] = 100_000
                    return fitted(kind(**o, **tight), X, y)

                def value(
                    model: Any, K: float = K, tau: float = tau, X: np.ndarray = X, y: np.ndarray = y
                ) -> float:
                    w = np.asarray(model.w_ if hasattr(model, "w_") else model.coef_)
                    r = (y - y.mean()) - (X - X.mean(axis=0)) @ w
                    return float(0.5 * r @ r + 0.5 * K * w @ w + tau * np.abs(w).sum())

                yield Problem(
                    family, name, f"{share:g} of the largest tau", max(X.shape),
                    fitted(ElasticNet(K=K, tau=tau) if K else Lasso(tau=tau), X, y), value,
                    {n: lambda t, k=k, o=options: peer(t, k, o) for n, k in makers.items()},
                )  # fmt: skip


def linear_programs() -> Iterator[Problem]:
    """Least absolute deviations and basis pursuit; HiGHS is SciPy's, with the simplex method or interior points."""

    def highs(solve: Callable[[str], Any]) -> dict[str, Callable[[float | None], Run]]:
        return {
            "HiGHS, simplex": lambda t: lambda: solve("highs-ds"),
            "HiGHS, interior point": lambda t: lambda: solve("highs-ipm"),
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
        runs[name, "default"] = peer(None)
        if not p.family.startswith("kernel ") and not name.startswith("HiGHS"):
            runs[name, "tight"] = peer(TIGHT)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--largest", type=int, default=10**9, help="leave out larger problems")
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/families.json"
    )
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for p in chain.from_iterable(GROUPS[name]() for name in arguments.groups or GROUPS):
            if p.n <= arguments.largest:
                found = measure(p)
                rows += found
                for r in found:
                    print(*(f"{r[key]:9.2f}" for key in ("ratio", "ours_ms", "peer_ms")), end="  ")
                    print(
                        *list(r.values())[:6], r["our_error"], r["peer_error"], sep=", ", flush=True
                    )
    if arguments.store:
        store("families", rows, missing=missing(PEERS), cap=CAP)


if __name__ == "__main__":
    main()
