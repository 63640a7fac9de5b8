"""Sections 18.7, 18.11, 18.13: which support vectors exist, and what the optimum leaves free, on sets with ties."""

import numpy as np
import pytest

from companion.svm import SVMs2prime, SVMs3, nu_min


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
