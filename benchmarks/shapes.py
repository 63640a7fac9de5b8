"""The data of the benchmarks: families of ordinary shapes, each with the seed that makes it.

None was chosen for its time. The toys are the ones of every tutorial; the real sets come with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn import datasets

Data = tuple[np.ndarray, np.ndarray]


class Points(NamedTuple):
    """A data set: its name with its seed, points and labels or targets."""

    name: str
    X: np.ndarray
    y: np.ndarray


def spirals(n: int, seed: int) -> Data:
    """Two arms of a turn and a half each, with noise."""
    rng = np.random.default_rng(seed)
    t, y = 3.0 * np.pi * np.sqrt(rng.random(n)), np.where(np.arange(n) % 2, 1.0, -1.0)
    arm = np.stack([t * np.cos(t), t * np.sin(t)], axis=1) * y[:, None]
    return arm / 10.0 + 0.03 * rng.standard_normal((n, 2)), y


def clouds(n: int, d: int, seed: int, apart: float = 2.0) -> Data:
    """Two overlapping normal clouds, whose means are `apart` standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * apart / d**0.5 * y[:, None], y


def standard(X: np.ndarray) -> np.ndarray:
    """Centre and scale the columns; timings learn nothing from the labels."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def two_classes(largest: int = 3000) -> Iterator[Points]:
    """Data sets with labels +1 and -1, up to `largest` points."""
    for n in (50, 200, 1000):
        X, y = datasets.make_moons(n, noise=0.2, random_state=1)
        yield Points(f"moons {n} (seed 1)", X, 2.0 * y - 1.0)
    for n in (100, 500):
        X, y = datasets.make_circles(n, noise=0.1, factor=0.5, random_state=2)
        yield Points(f"circles {n} (seed 2)", X, 2.0 * y - 1.0)
    for n in (200, 1000):
        yield Points(f"spirals {n} (seed 3)", *spirals(n, 3))
    for n, d in ((100, 2), (500, 5), (500, 30), (1000, 100), (3000, 10)):
        yield Points(f"clouds {n} x {d} (seed 4)", *clouds(n, d, 4))
    for name, load, positive in (
        ("breast cancer", datasets.load_breast_cancer, lambda t: t == 1),
        ("wine, first or not", datasets.load_wine, lambda t: t == 0),
        ("digits, odd or even", datasets.load_digits, lambda t: t % 2 == 1),
    ):
        X, t = load(return_X_y=True)
        yield Points(f"{name} {len(t)}", standard(X), np.where(positive(t), 1.0, -1.0))


def targets() -> Iterator[Points]:
    """Data sets with real targets, of the spread 1."""
    for n in (50, 200, 1000):
        rng = np.random.default_rng(5)
        x = np.sort(rng.uniform(0.0, 3.0, n))
        yield Points(f"sine {n} (seed 5)", x[:, None], np.sin(2 * x) + 0.2 * rng.standard_normal(n))
    for n in (200, 1000):
        rng = np.random.default_rng(6)
        X = rng.uniform(-3.0, 3.0, (n, 2))
        y = np.sinc(np.linalg.norm(X, axis=1)) + 0.1 * rng.standard_normal(n)
        yield Points(f"sinc in the plane {n} (seed 6)", X, standard(y[:, None])[:, 0])
    for n in (300, 1500):
        X, y = datasets.make_friedman1(n, noise=1.0, random_state=7)
        yield Points(f"Friedman 1 {n} (seed 7)", standard(X), standard(y[:, None])[:, 0])
    for n, d in ((300, 5), (1000, 30)):
        rng = np.random.default_rng(8)
        X = rng.standard_normal((n, d))
        y = X @ rng.standard_normal(d) + rng.standard_normal(n)
        yield Points(f"linear {n} x {d} (seed 8)", X, standard(y[:, None])[:, 0])
    X, y = datasets.load_diabetes(return_X_y=True)
    yield Points("diabetes 442", standard(X), standard(y[:, None])[:, 0])
    X, _ = datasets.load_wine(return_X_y=True)
    yield Points("wine, colour 178", standard(np.delete(X, 9, axis=1)), standard(X[:, [9]])[:, 0])


class Program(NamedTuple):
    """The program ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``."""

    name: str
    P: np.ndarray
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    lower: float
    upper: float


def programs(kind: str, sizes: tuple[int, ...] = (20, 50, 200, 500, 800)) -> Iterator[Program]:
    """Quadratic programs: ``dense``, ``low rank``, ``graded`` (widths 1 to 1e-4) or ``portfolio``; two of each size."""
    for n in sizes:
        for seed in (9, 10):
            rng = np.random.default_rng(seed)
            lower, upper = 0.0, 1.0
            if kind == "portfolio":
                F, d = rng.standard_normal((n, max(2, n // 10))), rng.random(n)
                P, q = F @ F.T / n + np.diag(0.01 + d), -rng.random(n)
                A, b, upper = np.ones((1, n)), np.ones(1), 0.3
            else:
                rank = n // 5 if kind == "low rank" else n + 5
                G = rng.standard_normal((n, rank))
                if kind == "graded":
                    G *= np.geomspace(1.0, 1e-4, n)[:, None]
                P, q = G @ G.T / n, rng.standard_normal(n) * np.abs(G).max(axis=1)
                A = rng.standard_normal((2, n))
                b = A @ rng.uniform(0.2, 0.8, n)
            yield Program(f"{kind} {n} (seed {seed})", P, q, A, b, lower, upper)


def designs() -> Iterator[Points]:
    """Data for the lasso: correlated columns, more rows than columns and fewer, and real ones."""
    for m, n in ((200, 50), (400, 150), (200, 1000), (400, 3000)):
        for correlation in (0.0, 0.9, 0.99):
            rng = np.random.default_rng(11)
            X = rng.standard_normal((m, n))
            for j in range(1, n):  # neighbours are correlated
                X[:, j] = correlation * X[:, j - 1] + (1.0 - correlation**2) ** 0.5 * X[:, j]
            w = np.where(np.arange(n) % max(2, n // 15) == 0, rng.standard_normal(n), 0.0)
            y = X @ w + 0.5 * rng.standard_normal(m)
            yield Points(f"{m} x {n}, correlation {correlation:g} (seed 11)", X, y)
    X, y = datasets.load_diabetes(return_X_y=True)
    X = standard(X)
    i, j = np.triu_indices(X.shape[1])
    yield Points("diabetes 442 x 10", X, y)
    yield Points("diabetes with products 442 x 65", standard(np.hstack([X, X[:, i] * X[:, j]])), y)


def lines() -> Iterator[Points]:
    """Data for least absolute deviations: gross errors, ties, duplicates, real ones."""
    for m, n in ((50, 3), (200, 5), (500, 20), (1000, 10), (2000, 30)):
        rng = np.random.default_rng(12)
        X = np.column_stack([np.ones(m), rng.standard_normal((m, n - 1))])
        y = X @ rng.standard_normal(n) + rng.standard_t(1.5, m)
        yield Points(f"heavy tails {m} x {n} (seed 12)", X, y)
    for m in (100, 400):
        rng = np.random.default_rng(13)
        X = np.column_stack([np.ones(m), rng.integers(-3, 4, (m, 3))]).astype(float)
        yield Points(f"whole numbers {m} x 4 (seed 13)", X, rng.integers(-5, 6, m).astype(float))
        rows = rng.integers(0, m // 4, m)
        yield Points(f"repeated rows {m} x 4 (seed 13)", X[rows], rng.standard_normal(m))
    X, y = datasets.load_diabetes(return_X_y=True)
    yield Points("diabetes 442 x 11", np.column_stack([np.ones(len(y)), standard(X)]), y)


def underdetermined() -> Iterator[Points]:
    """Data for basis pursuit: few measurements of a sparse vector."""
    for m, n in ((10, 40), (30, 100), (60, 200), (100, 500), (200, 600)):
        for correlation in (0.0, 0.7):
            rng = np.random.default_rng(14)
            A = rng.standard_normal((m, n)) + correlation * 3 * rng.standard_normal((m, 1))
            x = np.zeros(n)
            x[rng.choice(n, m // 6, replace=False)] = rng.standard_normal(m // 6)
            yield Points(f"{m} x {n}, common factor {correlation:g} (seed 14)", A, A @ x)
