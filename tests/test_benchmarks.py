"""The benchmarks run at small sizes, and their answers are right. No timed tests."""

import numpy as np
import pytest

from benchmarks import families, memory

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
