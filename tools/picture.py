"""Draw the pictures of the welcome page from what the package computes, and take the README's from the built site.

``python -m tools.picture`` writes one ``book/_static/part-NN.png`` for each chapter, and ``pages.png``, what Chromium
shows of a page. Run it after ``make book``, when a figure's style or the look of the pages changes.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np
from playwright.sync_api import sync_playwright

from companion.admm import lasso, project_ball
from companion.datasets import diabetes
from companion.figures import plotting
from companion.kernels import Gaussian, KernelPCA
from companion.svm import SVMs2prime
from companion.svr import NuSVR
from tools.pdf import SITE, launch
from tools.toc import BOOK

STATIC = BOOK / "_static"
SHOWN = "notebooks/admm/dual-ascent.html"


def part_admm(ax: plt.Axes) -> None:
    """ADMM on a quadratic over a disc: the two sequences x and z walk to the solution."""
    P, q = np.array([[1.0, 0.45], [0.45, 0.7]]), np.array([-2.2, -1.9])
    x, z, u = np.zeros(2), np.array([-1.0, 0.9]), np.zeros(2)
    xs, zs = [], [z]
    for _ in range(25):
        x = np.linalg.solve(P + 0.35 * np.eye(2), 0.35 * (z - u) - q)
        z = project_ball(x + u)
        u = u + x - z
        xs.append(x)
        zs.append(z)
    a, b = np.meshgrid(np.linspace(-1.6, 2.9, 200), np.linspace(-1.3, 2.2, 200))
    level = 0.5 * (P[0, 0] * a**2 + 2 * P[0, 1] * a * b + P[1, 1] * b**2) + q[0] * a + q[1] * b
    ax.contour(a, b, level, levels=14, colors="0.8", linewidths=1)
    ax.add_patch(plt.Circle((0, 0), 1, color=plotting.SKY, alpha=0.3))
    ax.plot(*np.transpose(xs), "-o", color=plotting.BLUE, markersize=5)
    ax.plot(*np.transpose(zs), "--s", color=plotting.RED, markersize=5)
    ax.plot(*zs[-1], "*", color="black", markersize=16)
    ax.set_aspect("equal")


def part_kernels(ax: plt.Axes) -> None:
    """Kernel PCA straightens rings: points coloured by ring, level lines of the component that separates them."""
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 120)
    radius = np.repeat([0.55, 1.5], 60) + rng.normal(0, 0.1, 120)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    pca = KernelPCA(3, kernel=Gaussian(1.2)).fit(X)
    a, b = np.meshgrid(np.linspace(-2.6, 2.6, 90), np.linspace(-1.75, 1.75, 60))
    level = pca.transform(np.column_stack([a.ravel(), b.ravel()]))[:, 2].reshape(a.shape)
    ax.contourf(a, b, level, levels=12, cmap="cividis", alpha=0.55)
    plotting.points(ax, X[:60], X[60:], s=30)


def part_svm(ax: plt.Axes) -> None:
    """A Gaussian-kernel nu-SVM: the boundary and its margin lines."""
    rng = np.random.default_rng(4)
    t = rng.uniform(0, np.pi, 60)
    u = np.column_stack([np.cos(t[:30]), np.sin(t[:30])]) + rng.normal(0, 0.16, (30, 2))
    v = np.column_stack([1 - np.cos(t[30:]), 0.45 - np.sin(t[30:])]) + rng.normal(0, 0.16, (30, 2))
    machine = SVMs2prime(0.25, kernel=Gaussian(0.5)).fit_uv(u, v)
    a, b = np.meshgrid(np.linspace(-1.6, 2.6, 140), np.linspace(-1.1, 1.7, 100))
    f = machine.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    eta = machine.eta_
    ax.contourf(a, b, f, levels=[-1e9, 0, 1e9], colors=[plotting.RED, plotting.BLUE], alpha=0.15)
    ax.contour(
        a,
        b,
        f,
        levels=[-eta, 0, eta],
        colors=[plotting.RED, "black", plotting.BLUE],
        linestyles=[":", "-", "--"],
    )
    plotting.points(ax, u, v, s=30)


def part_regression(ax: plt.Axes) -> None:
    """Coefficients of the lasso on the diabetes data, against the weight of the penalty."""
    data = diabetes()
    X, y = np.asarray(data.X), np.asarray(data.y)
    X, y = X - X.mean(axis=0), y - y.mean()
    taus = np.max(np.abs(X.T @ y)) * np.logspace(0, -3, 40)
    plotting.paths(ax, taus, np.array([lasso(X, y, tau).z for tau in taus]))


def part_svr(ax: plt.Axes) -> None:
    """A tube around a noisy curve; the points on it and outside it carry the fit."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-3, 3, 70))
    y = np.sinc(x) + rng.normal(0, 0.11, 70)
    tube = NuSVR(C=200.0, nu=0.3, kernel=Gaussian(0.8)).fit(x[:, None], y)
    grid = np.linspace(-3.1, 3.1, 300)
    f = tube.predict(grid[:, None])
    ax.fill_between(grid, f - tube.epsilon_, f + tube.epsilon_, color=plotting.SKY, alpha=0.3)
    ax.plot(grid, f, color="black")
    inside = np.abs(y - tube.predict(x[:, None])) < tube.epsilon_ * (1 - 1e-6)
    ax.plot(x[inside], y[inside], "o", color="0.45", markersize=5)
    ax.plot(x[~inside], y[~inside], "s", color=plotting.RED, markersize=6)


PARTS = {
    "part-16": part_admm,
    "part-17": part_kernels,
    "part-18": part_svm,
    "part-19": part_regression,
    "part-20": part_svr,
}


def page() -> None:
    """Photograph the first slider of a page, with the text around it."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        opened = browser.new_page(viewport={"width": 1280, "height": 860})
        opened.goto((SITE / SHOWN).as_uri())
        opened.wait_for_load_state("networkidle")
        slider = opened.locator(".companion-flipbook").first
        slider.wait_for()
        for _ in range(2):  # pictures find their heights when the reader comes near
            slider.evaluate("e => scrollTo(0, scrollY + e.getBoundingClientRect().top - 240)")
            opened.wait_for_timeout(1500)
        opened.screenshot(path=STATIC / "pages.png")
        browser.close()


def main() -> None:
    """Draw everything."""
    page()
    plotting.use_style()
    for name, draw in PARTS.items():
        fig, ax = plt.subplots(figsize=(4.8, 3.2))
        draw(ax)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        ax.minorticks_off()
        ax.grid(visible=False)
        if ax.get_legend():
            ax.get_legend().remove()
        ax.spines[["left", "bottom"]].set_visible(False)
        fig.savefig(STATIC / f"{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
