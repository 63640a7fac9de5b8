"""The benchmarks run at small sizes, their answers are right, and so is the cost model. No timed tests."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import (
    _qp,
    consensus,
    gram,
    kernel_pca,
    kernel_ridge,
    lasso,
    linear_programs,
    memory,
    profile,
    svm,
    svr,
)  # fmt: skip

KEYS = {
    "family",
    "n",
    "ours_ms",
    "our_error",
    "our_peak_MB",
    "peer",
    "peer_ms",
    "peer_error",
    "peer_peak_MB",
    "ratio",
}


@pytest.mark.parametrize("module", [gram, kernel_ridge, kernel_pca], ids=lambda m: m.__name__)
def test_rows_compare_equal_answers(module):
    rows = module.compare(60, 1) + module.compare(210, 1) + module.compare(300, 1)
    assert all(set(row) >= KEYS for row in rows)
    for row in rows:
        assert row["our_error"] < 1e-13
        assert row["peer_error"] < 1e-11
        assert row["ratio"] > 0
    growing = benchmarks.exponents(rows)
    assert len({(line["family"], line["solver"]) for line in growing}) == len(growing)
    assert {line["solver"] for line in growing} == {"companion", *(row["peer"] for row in rows)}


def test_growth_is_the_exponent_of_a_power():
    assert benchmarks.growth((n, 3 * n**1.7) for n in (200, 1000, 3000)) == pytest.approx(1.7)


def test_peak_counts_what_a_run_allocates():
    def run():
        a, b = np.ones(10**6), np.ones(10**6)
        return a - b

    assert benchmarks.peak_bytes(run) == pytest.approx(24e6, rel=0.01)


def test_stored_files_name_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path / "results")
    benchmarks.store("some", [{"n": 1}], exponents=[])
    stored = json.loads((tmp_path / "results" / "some.json").read_text())
    assert stored["rows"] == [{"n": 1}]
    assert stored["exponents"] == []
    assert {"processor", "python", "numpy"} <= set(stored["machine"])


def test_the_runner_names_what_there_is():
    root = Path(benchmarks.__file__).parents[1]
    command = [sys.executable, "-m", "benchmarks", "nothing"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert run.returncode != 0
    assert "no such benchmark: nothing; there are: consensus, gram," in run.stderr
    command = [sys.executable, "-m", "benchmarks", "kernel_ridge", "--sizes", "30", "--rounds", "1"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    assert "== kernel_ridge ==" in run.stdout
    assert "n=30 " in run.stdout


# What the accuracies are: of exact answers none is left, and of others they are what an independent sum says.

DUALS = [
    svm.Problem(*svm.two_clouds(60), kernel, C, nu)
    for kernel, C, nu in svm.PROBLEMS
]  # fmt: skip


def nearby(x, seed=0):
    return x * (1 + 0.02 * np.random.default_rng(seed).standard_normal(x.size))


@pytest.mark.parametrize("problem", DUALS, ids=lambda p: p.family)
def test_the_gap_of_a_machine_bounds_what_its_dual_program_loses(problem):
    best = svm.ours(problem)()
    gap, kkt = problem.accuracy(best)
    assert abs(gap) < 1e-12
    assert kkt < 1e-11
    q, A, b, upper = problem.constraints
    a, _ = problem.made_feasible(nearby(best))
    np.testing.assert_allclose(A @ a, b, atol=1e-12)
    assert (a >= 0).all()
    assert (a <= upper).all()
    P = problem.gram()
    value, least = (x @ P @ x / 2 + q @ x for x in (a, best))
    loss = (value - least) / abs(value)
    gap, kkt = problem.accuracy(nearby(best))
    assert 0 < loss <= gap
    assert kkt > 1e-4


@pytest.mark.parametrize("gamma", svr.GAMMAS)
def test_the_gap_of_a_regression_bounds_what_its_dual_program_loses(gamma):
    problem = svr.Problem(*svr.noisy_curve(50), gamma)
    best = svr.ours(problem)()
    gap, kkt = problem.accuracy(best)
    assert abs(gap) < 1e-12
    assert kkt < 1e-11
    delta = 0.99 * best  # feasible
    K = problem.gram()
    value, least = (x @ K @ x / 2 - problem.y @ x for x in (delta, best))
    gap, kkt = problem.accuracy(delta)
    assert 0 < (value - least) / abs(value) <= gap
    assert kkt > 1e-4


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_gap_of_a_lasso_bounds_what_it_loses(share):
    X, y = lasso.correlated_design(60, 20)
    program = lasso.Program(X, y, 5.0, share * 5.0)
    model = program.ours(1e-12)

    def value(w):
        r = (y - y.mean()) - (X - X.mean(axis=0)) @ w
        return r @ r / 2 + program.K * w @ w / 2 + program.tau * np.abs(w).sum()

    best = model.w_
    assert program.measure(best)[0] < 1e-12
    other = nearby(best)
    gap, kkt = program.measure(other)
    assert 0 < (value(other) - value(best)) / value(other) <= gap
    assert kkt > 1e-4
    for fit in program.peers().values():  # they solve the same program
        assert program.measure(fit(1e-8).coef_)[0] < 1e-5


@pytest.mark.parametrize("solver", ["OSQP", "Clarabel"])
def test_quadratic_programming_solvers_get_the_same_program(solver):
    problem = DUALS[2]
    x = _qp.MAKERS[solver](problem.qp(), 1e-9)()
    assert problem.accuracy(x)[0] < 1e-6
    regression = svr.Problem(*svr.noisy_curve(50), 1.0)
    assert regression.accuracy(_qp.MAKERS[solver](regression.qp(), 1e-9)())[0] < 1e-6


def test_the_text_as_printed_solves_the_same_program():
    machine = svm.Problem(*svm.two_clouds(20), "Gaussian", None, 0.4)
    regression = svr.Problem(*svr.noisy_curve(20), 1.0)
    for problem in (machine, regression):
        loose, tight = (_qp.text_as_printed(problem.qp(), tol) for tol in (1e-6, 1e-9))
        assert loose.seconds > 0
        assert loose.n_iter < tight.n_iter
        assert problem.accuracy(loose.x)[0] < 1e-3
        assert max(problem.accuracy(tight.x)) < 1e-6


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_text_solves_the_same_lasso(share):
    X, y = lasso.correlated_design(40, 8)
    program = lasso.Program(X, y, 5.0, share * 5.0)
    rows = _qp.text_at_levels(program.text, program.measure, 1.0)
    assert [row["level"] for row in rows] == list(_qp.LEVELS)
    assert all(row["reached"] for row in rows)
    assert rows[0]["n_iter"] < rows[1]["n_iter"]
    np.testing.assert_allclose(program.text(1e-11).x, program.ours(1e-12).w_, atol=1e-8)


@pytest.mark.parametrize("family", ["least absolute deviations", "basis pursuit"])
def test_the_text_solves_the_same_linear_program(family):
    shape = (30, 4) if family == "least absolute deviations" else (6, 15)
    row, texts = linear_programs.compare(family, (*shape, "random"), 1)
    assert row["our_gap"] < 1e-12
    assert row["peer_gap"] < 1e-9
    assert [text["level"] for text in texts] == list(_qp.LEVELS)
    for text in texts:
        assert text["reached"] == (text["peer_gap"] <= text["level"])
        assert text["n_iter"] <= _qp.TEXT_CAP
    assert texts[0]["reached"]


def test_equal_accuracy_takes_the_loosest_tolerance_that_reaches_a_level():
    def maker(worst):
        """A solver that gets ten times as close as its tolerance says, but no closer than the worst."""
        return lambda tol: lambda: np.array([max(tol / 10, worst)])

    def accuracy(x):
        return float(x[0]), float(x[0]) / 2

    makers = {"good": maker(0.0), "bad": maker(1e-7)}
    rows = _qp.at_equal_accuracy(lambda: np.zeros(1), makers, accuracy, 2)
    found = {(row["solver"], row["level"]): row for row in rows}
    assert len(found) == 4
    assert found["good", 1e-6]["tolerance"] == pytest.approx(1e-5)
    assert found["good", 1e-9]["tolerance"] == pytest.approx(1e-8)
    assert all(found[name, 1e-6]["reached"] for name in makers)
    assert found["good", 1e-9]["reached"]
    assert not found["bad", 1e-9]["reached"]
    assert found["bad", 1e-9]["gap"] == 1e-7


def test_a_kkt_residual_must_reach_the_level_too():
    makers = {"a": lambda tol: lambda: np.array([tol])}
    (loose, _) = _qp.at_equal_accuracy(
        lambda: np.zeros(1), makers, lambda x: (0.0, 20 * float(x[0])), 1
    )
    assert loose["tolerance"] == pytest.approx(1e-9)


def test_solvers_take_turns():
    turns = []
    runs = {name: lambda name=name: turns.append(name) for name in "ab"}
    times = benchmarks.interleaved(runs, 3)
    assert "".join(turns) == "ab" * 4  # the first round warms up
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_a_profile_names_the_functions_at_work():
    row = profile.row("calls", "some", profile.support_vectors(200, "Gaussian", 1.0, None), 0.3)
    assert 0.5 < sum(row["shares"].values()) <= 1.0 + 1e-9
    assert row["samples"] > 20
    assert any(name.startswith("kernels.functions.") for name in row["shares"])
    assert list(row["shares"].values()) == sorted(row["shares"].values(), reverse=True)


def test_the_page_explains_the_bounds_that_are_profiled():
    page = json.loads(Path("notebooks/about/how-fast.ipynb").read_text())
    text = "".join(line for cell in page["cells"] for line in cell["source"])
    assert {f"**{bound}.**" for bound in profile.CASES} <= {
        f"**{part}.**" for part in profile.CASES if f"- **{part}.**" in text
    }


# Memory.


@pytest.mark.parametrize("name", list(memory.linear_problems(1)))
def test_with_a_linear_kernel_memory_is_proportional_to_the_data(name):
    small, large = (memory.linear_row(name, n) for n in (20_000, 40_000))
    assert large["worst_certificate"] <= 1e-9
    assert large["peak_MB"] <= 2.4 * small["peak_MB"]
    assert large["peak_in_data_sizes"] <= 25
    # A matrix of n x n numbers would be 4,000 times the data.


@pytest.mark.parametrize("name", list(memory.kernel_problems(1)))
def test_with_a_gaussian_kernel_there_are_at_most_two_kernel_matrices(name):
    n = 1500
    row = memory.kernel_row(name, n)
    assert row["peak_in_matrices"] <= 2 + 400 / n


# The cost model of consensus.


def rows_of(model, families=("a", "b"), per_worker=(1, 2, 4, 8)):
    """Rows that follow a model without error."""
    rows = []
    for columns, compute in ((100, 1e-4), (1000, 5e-3)):
        for workers in (1, 2):
            for count in per_worker:
                row = {
                    "workers": workers,
                    "blocks": workers * count,
                    "columns": columns,
                    "compute": compute,
                }
                rows.append({**row, "seconds": consensus.predict(model, row)})
    return rows


def test_the_fit_finds_the_model_that_made_the_rows():
    model = {"latency": 4e-3, "per_block": 7e-4, "per_byte": 2e-9, "compute_factor": 1.2}
    found = consensus.fit(rows_of(model))
    for name, value in model.items():
        assert found[name] == pytest.approx(value, rel=1e-6), name
    held_out = {"workers": 2, "blocks": 32, "columns": 1000, "compute": 5e-3}
    assert consensus.predict(found, held_out) == pytest.approx(
        4e-3 + 32 * 7e-4 + 2e-9 * 24 * 1000 * 32 + 1.2 * 5e-3 * 16
    )


def test_the_plan_adds_the_network_to_the_model():
    model = {"latency": 4e-3, "per_block": 7e-4, "per_byte": 0.0, "compute_factor": 1.0}
    family = consensus.FAMILIES[0]
    plan = consensus.plan(model, (family,), {family.name: 0.01})
    assert [row["workers"] for row in plan] == list(consensus.PLANNED_WORKERS)
    assert plan[-1]["loopback_seconds"] == pytest.approx(4e-3 + 100 * 7e-4 + 0.01)
    wire = plan[-1]["network_seconds"] - plan[-1]["loopback_seconds"]
    assert wire == pytest.approx(0.5e-3 + 8e-9 * 24 * family.columns * 100)


def test_the_number_of_iterations_is_counted_up_to_many_blocks():
    counted = consensus.count_iterations(consensus.FAMILIES, (1, 5, 20))
    assert {line["blocks"] for line in counted} == {1, 5, 20}
    for line in counted:
        assert 1 < line["iterations"] < 1000


@pytest.mark.slow
@pytest.mark.distributed
def test_a_small_measurement_on_two_workers():
    pytest.importorskip("distributed")
    family = consensus.Family("small", consensus.FAMILIES[0].objective, 50, 5)
    (row,) = consensus.run_cluster(2, (family,), (1,), 3)
    assert (row["workers"], row["blocks"], row["columns"]) == (2, 2, 5)
    assert row["seconds"] > 0
