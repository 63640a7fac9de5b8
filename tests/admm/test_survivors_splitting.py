"""Consensus: its blocks, objectives, certificates and checkpoints."""

import pathlib
import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from companion.admm import (
    ConsensusObjective,
    LassoObjective,
    LeastSquaresBlock,
    RidgeObjective,
    SquaredHingeObjective,
    consensus,
)
from companion.admm.consensus import (
    SquaredHingeBlock,
    _certify,
    _column_weights,
    _describe_objective,
    _relative,
    _warn_if_missed,
)
from companion.certificates import Certificate
from companion.exceptions import ConvergenceWarning


def _rows(m: int, n: int, seed: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def _labels(m: int, n: int, seed: int = 61) -> tuple[np.ndarray, np.ndarray]:
    A, b = _rows(m, n, seed)
    return A, np.where(b > 0.0, 1.0, -1.0)


WEIGHTS = (np.array([0.5, 1.0, 2.0, 3.0]), np.array([1e-2, 10.0, 1.0, 5.0]))
V = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize("m", [2, 4, 9])
def test_the_step_of_a_block_of_squares(m: int) -> None:
    """For fewer rows than columns and for more; another weight needs another factor."""
    A, b = _rows(m, 4)
    block = LeastSquaresBlock(A, b)
    for w in (*WEIGHTS, WEIGHTS[0]):
        x, loss = block.prox(V, w)
        np.testing.assert_allclose(A.T @ (A @ x - b), w * (V - x), atol=1e-11)
        assert loss == pytest.approx(np.sum((A @ x - b) ** 2) / 2)
    assert block.fat == (m < 4)
    assert (block.AtA is None) == block.fat
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(np.sum((A @ V - b) ** 2) / 2)
    np.testing.assert_allclose(gradient, A.T @ (A @ V - b))
    np.testing.assert_allclose(block.curvature(), (A.T @ A).diagonal())


@pytest.mark.parametrize("m", [2, 4, 30])
@pytest.mark.parametrize("K", [0.25, 8.0])
def test_the_step_of_a_block_of_squared_hinges(m: int, K: float) -> None:
    A, b = _labels(m, 4)
    block = SquaredHingeBlock(A, b, K)
    for w in (*WEIGHTS, WEIGHTS[0]):
        for v in (V, -10.0 * V, 0.1 * V):
            x, loss = block.prox(v, w)
            xi = np.maximum(1.0 - b * (A @ x), 0.0)
            np.testing.assert_allclose(2.0 * K * A.T @ (b * xi), w * (x - v), atol=1e-10)
            assert loss == pytest.approx(K * xi @ xi)
    xi = np.maximum(1.0 - b * (A @ V), 0.0)
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(K * xi @ xi)
    np.testing.assert_allclose(gradient, -2.0 * K * A.T @ (b * xi))
    np.testing.assert_allclose(block.curvature(), 2.0 * K * (A.T @ A).diagonal())


@pytest.mark.parametrize(
    "objective", [RidgeObjective(3.0), RidgeObjective(0.25), SquaredHingeObjective(7.0)]
)
def test_a_penalty_and_its_conjugate_meet_at_the_gradient(objective: ConsensusObjective) -> None:
    K = objective.K if isinstance(objective, RidgeObjective) else 1.0
    assert objective.penalty(V) == pytest.approx(K * V @ V / 2)
    s = K * V
    assert objective.penalty(V) + objective.penalty_conjugate(s) == pytest.approx(s @ V)
    t = np.array([0.5, 1.0, 2.0, 4.0])
    z = objective.penalty_prox(V, t)
    np.testing.assert_allclose(K * z, (V - z) / t)
    assert objective.dual_value(V, 5.0, 2.0 * V) == pytest.approx(
        5.0 - 2.0 * V @ V - objective.penalty_conjugate(2.0 * V)
    )


def test_the_lower_bounds_are_below_and_meet_the_minimum() -> None:
    A, b = _rows(12, 4)
    for objective in (LassoObjective(1.5), RidgeObjective(2.0)):
        z = consensus([(A[:5], b[:5]), (A[5:], b[5:])], objective).z
        block = objective.block(A, b)

        def bound(z, objective=objective, block=block) -> float:
            return objective.dual_value(z, *block.loss_and_gradient(z))

        best = objective.penalty(z) + block.loss_and_gradient(z)[0]
        assert bound(z) == pytest.approx(best, rel=1e-7)
        for scale in (-1.0, 0.0, 0.5, 0.99, 1.01, 3.0):
            assert bound(scale * z) < best
    assert LassoObjective(1.5).dual_value(V, 0.0, 0.0 * V) == 0.0


class _Nonnegative(ConsensusObjective):
    """Squares with x >= 0."""

    def block(self, A: np.ndarray, b: np.ndarray) -> LeastSquaresBlock:
        return LeastSquaresBlock(A, b)

    def penalty(self, z: np.ndarray) -> float:
        return 0.0 if (z >= 0).all() else np.inf

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.maximum(v, 0)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        return 0.0 if (s <= 1e-6).all() else np.inf


def test_the_conjugate_is_taken_at_the_negative_gradient() -> None:
    A, b = _rows(12, 4)
    run = consensus([(A[:5], b[:5]), (A[5:], b[5:])], _Nonnegative())
    assert run.certificate.ok
    assert (run.z == 0.0).any()
    assert (run.z > 0.0).any()


def test_the_weights_of_the_columns_are_mean_curvatures() -> None:
    """A column without curvature counts as the average; without separability each does."""
    curvatures = [np.array([1.0, 0.0, 4.0]), np.array([3.0, 0.0, 8.0])]
    assert _column_weights(curvatures, True).tolist() == [2.0, 4.0, 6.0]
    assert _column_weights(curvatures, False).tolist() == [4.0, 4.0, 4.0]
    assert _column_weights([np.zeros(2)], True).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"got 3 in blocks\[0\] and 2 in blocks\[1\]"):
        _column_weights([np.ones(3), np.ones(2)], True)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_certificate_of_consensus_sees_each_condition_in_any_unit(unit: float) -> None:
    """Of the columns: x is divided by what A is multiplied by."""
    A, b = _rows(12, 4)
    units = np.array([1.0, unit, 1.0, unit])
    objective = LassoObjective(1.5)
    z = consensus([(A[:5], b[:5]), (A[5:], b[5:])], objective, tol_abs=1e-12, tol_rel=1e-12).z

    def certify(x: np.ndarray, z: np.ndarray) -> Certificate:
        blocks = [LeastSquaresBlock(units * A[:5], b[:5]), LeastSquaresBlock(units * A[5:], b[5:])]
        d = _column_weights([block.curvature() for block in blocks], True)
        losses, gradients = zip(*(block.loss_and_gradient(z / units) for block in blocks))

        class Weighted(LassoObjective):
            def penalty(self, z: np.ndarray) -> float:
                return super().penalty(units * z)

            def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
                return super().penalty_prox(units * v, units**2 * t) / units

            def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
                return super().dual_value(units * z, loss, gradient / units)

        return _certify(Weighted(1.5), x / units, z / units, sum(losses), np.array(gradients), d)

    good = certify(np.array([z, z]), z)
    assert good.ok
    assert good.primal_residual == 0.0
    apart = certify(np.array([1.01 * z, 0.99 * z]), z)
    assert 1e-3 < apart.primal_residual < 1e-2
    assert apart.dual_residual == good.dual_residual
    far = 1.1 * z
    wrong = certify(np.array([far, far]), far)
    assert wrong.primal_residual == 0.0
    assert 1e-3 < wrong.dual_residual < 1.0
    value = np.sum((A @ far - b) ** 2) / 2 + 1.5 * np.abs(far).sum()
    gap = value - objective.dual_value(far, *LeastSquaresBlock(A, b).loss_and_gradient(far))
    assert wrong.gap == pytest.approx(gap / value, rel=1e-6)


def test_a_certificate_that_the_tolerance_does_not_explain_is_told() -> None:
    def missed(gap: float) -> Certificate:
        return Certificate(0.0, 0.0, 0.0, gap, 1e-6)

    with pytest.warns(ConvergenceWarning, match="the certificate misses 1e-06"):
        _warn_if_missed(missed(1e-4), 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gap, tol in ((1e-7, 1e-9), (np.inf, 1e-9), (1e-4, 1e-3)):
            _warn_if_missed(missed(gap), tol)


def test_parts_of_a_certificate_are_relative() -> None:
    assert (_relative(0.0, 0.0), _relative(1.0, 4.0)) == (0.0, 0.25)
    assert _relative(1.0, 0.0) == _relative(np.inf, 1.0) == _relative(np.nan, 1.0) == np.inf


def test_an_objective_is_described_by_its_values() -> None:
    assert _describe_objective(LassoObjective(0.5)) == "LassoObjective(tau=0.5)"
    assert _describe_objective(_Nonnegative()) == "_Nonnegative()"


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_run_from_an_earlier_result_stays_there(unit: float) -> None:
    A, b = _rows(12, 4)
    A = A * np.array([1.0, unit, 1.0, unit])
    blocks = [(A[:5], b[:5]), (A[5:], b[5:])]
    first = consensus(blocks, RidgeObjective(2.0), rho=0.3)
    again = consensus(blocks, RidgeObjective(2.0), start=first)
    assert again.n_iter <= 2
    assert again.history["rho"][0] == first.rho
    np.testing.assert_allclose(again.z, first.z, rtol=1e-6)
    np.testing.assert_allclose(again.u, first.u, rtol=1e-4)
    for (A_i, b_i), u, x in zip(blocks, first.u, first.x):
        gradient = A_i.T @ (A_i @ x - b_i)
        np.testing.assert_allclose(first.rho * u, -gradient, rtol=1e-6)
    for wrong in (blocks[:1], [(A[:5, :2], b[:5]), (A[5:, :2], b[5:])]):
        with pytest.raises(ValueError, match="its u has shape"):
            consensus(wrong, RidgeObjective(2.0), start=first)


A6, B6 = _rows(6, 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: LeastSquaresBlock(A6 * np.nan, B6), "A"),
        (lambda: LeastSquaresBlock(A6, B6 * np.nan), "b"),
        (lambda: LeastSquaresBlock(A6, B6[1:]), "b"),
        (lambda: SquaredHingeBlock(A6, np.ones(6), 0.0), "K"),
        (lambda: RidgeObjective(0.0), "K"),
        (lambda: SquaredHingeObjective(-1.0), "K"),
        (lambda: LassoObjective(0.0), "tau"),
    ],
)
def test_a_part_of_consensus_that_is_wrong_is_named(call: Callable, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must"):
        call()


I2, V2, V3, NAN = np.eye(2), np.ones(2), np.ones(3), [1.0, np.nan]
ROW = np.ones((1, 2))


def test_a_run_that_is_broken_off_leaves_its_last_checkpoint(tmp_path: pathlib.Path) -> None:
    A, b = _rows(12, 4)
    blocks, file, seen = [(A[:5], b[:5]), (A[5:], b[5:])], tmp_path / "state", []

    def breaks(iterate) -> None:
        seen.append(iterate.z.copy())
        if iterate.k == 8:
            raise KeyboardInterrupt

    options = {"checkpoint": file, "checkpoint_every": 3}
    with pytest.raises(KeyboardInterrupt):
        consensus(blocks, LassoObjective(0.5), callback=breaks, **options)
    np.testing.assert_array_equal(np.load(file)["z"], seen[5])
    done = consensus(blocks, LassoObjective(0.5), **options)
    np.testing.assert_array_equal(np.load(file)["z"], done.z)


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_a_checkpoint_of_other_data_is_refused(tmp_path: pathlib.Path, unit: float) -> None:
    A, b = _rows(12, 4)
    options = {"checkpoint": tmp_path / "state", "callback": lambda step: True}
    consensus([(unit * A, b)], RidgeObjective(unit**2), **options)
    with pytest.raises(ValueError, match="is a checkpoint of other data: their columns differ"):
        consensus([(1.000001 * unit * A, b)], RidgeObjective(unit**2), **options)


def test_over_relaxation_changes_the_steps_and_not_the_answer() -> None:
    A, b = _rows(12, 4)
    blocks = [(A[:5], b[:5]), (A[5:], b[5:])]
    plain, over = (consensus(blocks, RidgeObjective(2.0), relaxation=r) for r in (1.0, 1.6))
    np.testing.assert_allclose(plain.z, over.z, rtol=1e-6)
    assert plain.history["primal_residual"][3] != over.history["primal_residual"][3]
    assert plain.problem.name == "consensus"
    assert plain.problem.data["blocks"] is not None


class _Length(RidgeObjective):
    """A penalty that is not a sum over columns, for one of them."""

    separable = False


def test_one_column_needs_no_second() -> None:
    A, b = _rows(6, 1)
    run = consensus([(A[:2], b[:2]), (A[2:], b[2:])], _Length(2.0))
    np.testing.assert_allclose(run.z, A.T @ b / (np.sum(A**2) + 2.0), rtol=1e-7)


@pytest.mark.parametrize("far", [1.0, 8.0, 1e3])
def test_a_step_that_is_too_long_is_halved(far: float) -> None:
    """Along a multiple of Newton's direction, until the objective falls enough."""
    A, b = _labels(30, 4)
    block, w = SquaredHingeBlock(A, b, 8.0), WEIGHTS[0]
    slack, from_v = 1.0 - b * (A @ V), 0.5 * V
    gradient = block.loss_and_gradient(V)[1] + w * from_v
    d = -far * np.linalg.solve(16.0 * A.T @ A + np.diag(w), gradient)
    t = block._step_length(slack, from_v, d, w, gradient @ d)

    def value(t: float) -> float:
        xi = np.maximum(1.0 - b * (A @ (V + t * d)), 0.0)
        return 8.0 * xi @ xi + np.sum(w * (from_v + t * d) ** 2) / 2

    enough = 1e-4 * (gradient @ d)
    assert value(t) <= value(0.0) + t * enough
    assert (t == 1.0) == (far == 1.0)
    assert t == 1.0 or value(2.0 * t) > value(0.0) + 2.0 * t * enough


def test_the_residuals_of_a_certificate_are_those_that_are_stated() -> None:
    """The disagreement and the length of a proximal step 1 / (N d), relative to z and to the gradients."""
    A, b = _rows(12, 4)
    blocks, objective = (
        [LeastSquaresBlock(A[:5], b[:5]), LeastSquaresBlock(A[5:], b[5:])],
        LassoObjective(0.5),
    )
    d = _column_weights([block.curvature() for block in blocks], True)
    root = np.sqrt(d)
    for z in (V, 1e-3 * V):
        x = np.array([z + 0.25, z - 0.5])
        losses, gradients = zip(*(block.loss_and_gradient(z) for block in blocks))
        found = _certify(objective, x, z, sum(losses), np.array(gradients), d)
        length = max(np.abs(root * z).max(), np.abs(np.array(gradients) / root).max())
        v, t = z - sum(gradients) / (2 * d), 0.5 / (2 * d)
        step = z - np.sign(v) * np.maximum(np.abs(v) - t, 0.0)
        assert found.primal_residual == pytest.approx(0.5 * root.max() / length)
        assert found.dual_residual == pytest.approx(np.abs(root * step).max() / length)
