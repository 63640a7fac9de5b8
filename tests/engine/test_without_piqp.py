"""Where PIQP is not installed, the text's ADMM guesses: the same programs, the same verdicts."""

import numpy as np
import pytest

from companion.admm.quadratic import solve_qp
from companion.engine import guess
from tests.admm import test_quadratic as programs


@pytest.fixture(autouse=True)
def hidden(monkeypatch):
    monkeypatch.setattr(guess, "piqp", None)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    programs.test_random_programs_agree_with_clarabel(seed)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_dual_of_a_machine(kernel):
    programs.test_csvc_dual_agrees_with_libsvm(kernel, 1.0)


def test_low_rank():
    _, s, P = programs.svm(3_000, "linear", seed=0, d=2, shift=0.7)
    assert solve_qp(P, -np.ones(3_000), s[None], [0.0], upper=1.0).certificate.ok
