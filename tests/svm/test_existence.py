"""Sections 18.7, 18.11, 18.13: which support vectors exist, and what the optimum leaves free, on hundreds of sets.

Points have small integer coordinates, so ties and critical values of nu are common.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.svm import SVMs2prime, SVMs3, SVMs4, SVMs5, nu_min


def integer_sets(seed, number, largest):
    """Yield (u, v, nu) with nu a multiple of 1/(p+q), above nu_min and below the largest value."""
    rng = np.random.default_rng(seed)
    while number:
        p, q = rng.integers(3, 10, 2)
        u, v = rng.integers(-1, 4, (p, 2)) * 1.0, rng.integers(-3, 2, (q, 2)) * 1.0
        nu = int(rng.integers(1, largest(p, q))) / (p + q)
        if nu > nu_min(u, v) + 1e-6:
            number -= 1
            yield u, v, nu


def objective(u, v, machine, b, eta, nu, price_of_b):
    """The primal value for K = 1/(p+q), with the smallest slacks."""
    w = machine.w_
    slack = np.append(np.maximum(eta - (u @ w - b), 0), np.maximum(eta + (v @ w - b), 0))
    return (w @ w + price_of_b * b * b) / 2 - nu * eta + slack.mean()


def on_edges(u, v, machine, b, eta):
    """Whether a blue and whether a red point is on its edge."""
    near = 1e-9 * (10 * machine.norm_ + abs(b) + eta)
    blue, red = u @ machine.w_ - b - eta, v @ machine.w_ - b + eta
    return np.abs(blue).min() <= near, np.abs(red).min() <= near


@pytest.mark.parametrize("seed", range(3))
def test_s2prime_proposition_18_2_and_theorem_18_1(seed):
    slid = 0
    for u, v, nu in integer_sets(seed, 60, lambda p, q: 2 * min(p, q)):
        m, n = SVMs2prime(nu).fit_uv(u, v), len(u) + len(v)
        size = 1 + m.norm_**2 + nu * m.eta_
        for blue in m.blue_interval_:
            for red in m.red_interval_:
                value = objective(u, v, m, (blue + red) / 2, (blue - red) / 2, nu, 0)
                assert value == pytest.approx(m.objective_, abs=1e-9 * size)
        blue, red = m.blue_interval_[1], m.red_interval_[0]
        assert all(on_edges(u, v, m, (blue + red) / 2, (blue - red) / 2))
        if 2 * max(m.p_sf_, m.q_sf_) < nu * n - 1e-9:  # weaker than the hypothesis of the text
            assert all(on_edges(u, v, m, m.b_, m.eta_))
        slid += not all(on_edges(u, v, m, m.b_, m.eta_))
    assert slid > 5


@pytest.mark.parametrize("seed", range(3))
def test_s2prime_one_colour_makes_the_formula_vacuous(seed):
    """Proposition 18.3: type-1 points of one colour only, exactly if the factor of eta vanishes."""
    one_colour = 0
    for u, v, nu in integer_sets(seed, 60, lambda p, q: 2 * min(p, q)):
        m, n = SVMs2prime(nu).fit_uv(u, v), len(u) + len(v)
        assert (m.q_m_ > m.q_f_) == (n * nu - 2 * m.q_f_ > 1e-9)
        assert (m.p_m_ > m.p_f_) == (n * nu - 2 * m.p_f_ > 1e-9)
        one_colour += (m.p_m_ > m.p_f_) != (m.q_m_ > m.q_f_)
    assert one_colour > 0


@pytest.mark.parametrize("seed", range(3))
def test_s3_proposition_18_5_and_theorem_18_2(seed):
    widened = one_colour = 0
    for u, v, nu in integer_sets(seed, 60, lambda p, q: p + q):
        m, n = SVMs3(nu).fit_uv(u, v), len(u) + len(v)
        size = 1 + m.norm_**2 + m.b_**2 + nu * m.eta_
        for eta in m.eta_interval_:
            value = objective(u, v, m, m.b_, eta, nu, 1)
            assert value == pytest.approx(m.objective_, abs=1e-9 * size)
        assert any(on_edges(u, v, m, m.b_, m.eta_interval_[1]))
        here = on_edges(u, v, m, m.b_, m.eta_)
        if m.p_sf_ + m.q_sf_ < nu * n - 1e-9:
            assert any(here)
        assert (m.support_type1_.size > 0) == (n * nu > m.p_f_ + m.q_f_ + 1e-9)
        widened += not any(here)
        one_colour += sum(here) == 1
    assert widened > 0
    assert one_colour > 0  # "or" cannot become "and"


@pytest.mark.parametrize("machine", [SVMs4, SVMs5])
@pytest.mark.parametrize("seed", range(2))
def test_theorems_18_3_and_18_4(machine, seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        p, q, d = rng.integers(1, 15), rng.integers(1, 15), rng.integers(1, 5)
        u, v = rng.normal(0.5, 1, (p, d)), rng.normal(-0.5, 1, (q, d))
        K, nu, kappa = 10 ** rng.uniform(-2, 2), rng.uniform(0.1, 2), rng.uniform(0.2, 8)
        one, other = machine(nu, K=K).fit_uv(u, v), machine(kappa * nu, K=K).fit_uv(u, v)
        size = one.lambda_.sum() + one.mu_.sum()
        for name in ("lambda_", "mu_", "epsilon_", "xi_", "w_", "b_", "eta_"):
            expected = kappa * np.asarray(getattr(one, name))
            reach = kappa * size * (1 + np.abs(np.vstack([u, v])).max()) ** 2 * (1 + 1 / K)
            assert_allclose(getattr(other, name), expected, rtol=1e-9, atol=1e-10 * reach)


@pytest.mark.parametrize("seed", range(2))
def test_price_on_b_with_squared_slacks(seed):
    """(SVM_s5) has neither a larger eta nor a larger abs(b) than (SVM_s4); b itself may be larger."""
    rng = np.random.default_rng(seed)
    larger = 0
    for _ in range(50):
        u, v = (
            rng.normal(0.6, 1, (rng.integers(2, 20), 2)),
            rng.normal(-0.6, 1, (rng.integers(2, 20), 2)),
        )
        K = 10 ** rng.uniform(-2, 1)
        four, five = SVMs4(1.0, K=K).fit_uv(u, v), SVMs5(1.0, K=K).fit_uv(u, v)
        assert five.eta_ <= four.eta_ * (1 + 1e-9)
        assert abs(five.b_) <= abs(four.b_) + 1e-9 * (1 + four.eta_)
        larger += five.b_ > four.b_
    assert larger > 0
