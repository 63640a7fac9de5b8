"""The benchmarks run at small sizes, their answers are right, and so is the cost model. No timed tests.

And the paper's sets from openml.org: what the loader makes of a table, without a network.
"""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from benchmarks import consensus, families, memory
from tools.toc import ROOT

SMALL = [p for group in families.GROUPS.values() for p in group() if p.n <= 60]


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: f"{p.family}, {p.shape}, {p.setting}")
@pytest.mark.filterwarnings("ignore")
def test_the_peers_of_a_problem_solve_the_same_problem(problem):
    """At the tight tolerance; libsvm's single precision leaves about five digits."""
    answer = problem.ours()
    assert problem.accuracy(answer) < 1e-9
    best = problem.value(answer)
    if np.size(best) == 0 or (problem.shape.startswith("sine") and "linear" in problem.family):
        return  # other scales; libsvm meets its cap of steps
    for name, peer in problem.peers.items():
        level = None if name.startswith(("HiGHS", "Kernel")) else 1e-9
        assert families.difference(problem, peer(level)(), best) < 1e-4, name


def test_each_kind_of_problem_has_ten_shapes_and_each_shape_its_seed():
    kinds, real = {}, ("breast", "wine", "digits", "diabetes")
    for p in (p for group in families.GROUPS.values() for p in group()):
        kinds.setdefault(p.family, set()).add(p.shape)
        assert "(seed " in p.shape or p.shape.startswith(real), p.shape
    assert min(len(names) for names in kinds.values()) >= 10, kinds


def test_the_runner_names_what_there_is():
    command, options = [sys.executable, "-m", "benchmarks"], {"capture_output": True, "text": True}
    run = subprocess.run([*command, "nothing"], cwd=ROOT, check=False, **options)
    assert run.returncode != 0
    assert "no such benchmark: nothing; there are: boards, certificates, consensus," in run.stderr
    few = [*command, "families", "--largest", "45"]
    shown = subprocess.run(few, cwd=ROOT, check=True, **options).stdout
    assert "== families ==" in shown
    assert "basis pursuit, 10 x 40" in shown


@pytest.mark.parametrize("name", list(memory.linear_problems(1)))
def test_with_a_linear_kernel_memory_is_proportional_to_the_data(name):
    small, large = (memory.linear_row(name, n) for n in (20_000, 40_000))
    assert large["worst_certificate"] <= 1e-9
    assert large["peak_MB"] <= 2.4 * small["peak_MB"]
    assert large["peak_in_data_sizes"] <= 25
    # A matrix of n x n numbers would be 4,000 times the data.


@pytest.mark.parametrize("name", list(memory.kernel_problems(1)))
def test_with_a_gaussian_kernel_there_are_at_most_two_kernel_matrices(name):
    """A penalized b asks libsvm for points and their mirror images."""
    assert memory.kernel_row(name, 1500)["peak_in_matrices"] <= 5 + 400 / 1500


MODEL = {"latency": 4e-3, "per_worker": 7e-4, "per_byte": 2e-9, "compute_factor": 1.2}


def test_the_fit_finds_the_model_that_made_the_rows():
    rows = [
        {"workers": w, "blocks": w * count, "columns": columns, "compute": compute}
        for columns, compute in ((100, 1e-4), (1000, 5e-3))
        for w, count in product((1, 2), (1, 2, 4, 8))
    ]
    found = consensus.fit([{**row, "seconds": consensus.predict(MODEL, row)} for row in rows])
    assert {name: found[name] for name in MODEL} == pytest.approx(MODEL, rel=1e-6)
    held_out = {"workers": 2, "blocks": 32, "columns": 1000, "compute": 5e-3}
    seconds = 4e-3 + 2 * 7e-4 + 2e-9 * 16 * 1000 * 2 + 1.2 * 5e-3 * 16
    assert consensus.predict(found, held_out) == pytest.approx(seconds)


@pytest.mark.slow
@pytest.mark.distributed
def test_a_small_measurement_on_two_workers():
    pytest.importorskip("distributed")
    family = consensus.Family("small", consensus.FAMILIES[0].objective, 50, 5)
    (row,) = consensus.run_cluster(2, (family,), (2,), 3)
    assert (row["workers"], row["blocks"], row["columns"]) == (2, 2, 5)
    assert row["seconds"] > 0
    assert row["bytes"] > 2 * 8 * 5
    admm, sums = consensus.compare_roads((family,), 3)
    assert admm["iterations"] > 0 == sums["iterations"]
    assert sums["bytes"] < admm["bytes"]
