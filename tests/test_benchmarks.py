"""The benchmarks run at small sizes, and their answers are right. No timed tests."""

import numpy as np
import pytest

from benchmarks import families, memory

SMALL = [p for group in families.GROUPS.values() for p in group() if p.n <= 60]


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: f"{p.family}, {p.shape}, {p.setting}")
@pytest.mark.filterwarnings("ignore")
def test_the_peers_of_a_problem_solve_the_same_problem(problem):
    # at the tight tolerance; libsvm's single precision leaves about five digits
    answer = problem.ours()
    assert problem.accuracy(answer) < 1e-9
    best = problem.value(answer)
    if np.size(best) == 0 or (problem.shape.startswith("sine") and "linear" in problem.family):
        return  # other scales; libsvm meets its cap of steps
    for name, peer in problem.peers.items():
        level = None if name.startswith(("HiGHS", "Kernel")) else 1e-9
        assert families.difference(problem, peer(level), best) < 1e-4, name


def test_a_failure_costs_the_cap_and_is_no_ratio_of_a_target():
    row = {"family": "lasso", "setting": "", "n": 5, "peer": "celer", "level": "default"}
    row |= {"ours_ms": 2.0, "peer_ms": 1.0, "our_error": 1e-12}
    found = ("a", 2.0, 1e-6), ("b", 0.5, 0.1)
    rows = [row | {"shape": s, "ratio": r, "peer_error": e} for s, r, e in found]
    (ours, celer), (target,) = families.priced(rows), families.targets(rows)
    assert celer["mean_ms"] == pytest.approx(1e3 * (0.011 * (families.CAP + 0.01)) ** 0.5, rel=0.01)
    assert (celer["failed"], ours["failed"]) == (1, 0)
    assert (target["problems"], target["failed"], target["mean"], target["worst"]) == (
        1,
        1,
        2.0,
        2.0,
    )


@pytest.mark.parametrize("name", list(memory.linear_problems(1)))
def test_with_a_linear_kernel_memory_is_proportional_to_the_data(name):
    small, large = (memory.linear_row(name, n) for n in (20_000, 40_000))
    assert large["worst_certificate"] <= 1e-9
    assert large["peak_MB"] <= 2.4 * small["peak_MB"]
    assert large["peak_in_data_sizes"] <= 25


@pytest.mark.parametrize("name", list(memory.kernel_problems(1)))
def test_with_a_gaussian_kernel_there_are_at_most_two_kernel_matrices(name):
    assert memory.kernel_row(name, 1500)["peak_in_matrices"] <= 5 + 400 / 1500
