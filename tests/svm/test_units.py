"""Ordinary units fit; what float64 cannot square is refused by name; many points need the columns of few."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.datasets import nine_points
from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR

MACHINES = [SVMs1(0.2), SVMs2(), SVMs2prime(0.6), SVMs3(0.6), SVMs4(), SVMs5()]
TUBES = [NuSVR(), NuSVRPenalizedBias(), QuadraticNuSVR(), EpsilonSVR()]


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("machine", [SVMs1(0.2), SVMs2prime(0.6)], ids=lambda m: type(m).__name__)
def test_a_feature_in_nanometres_gives_the_same_machine(machine, unit: float) -> None:
    """Programs without a unit of their own: w changes with 1/unit (not at all for the unit normal), classes do not."""
    data = nine_points()
    one = machine.fit(data.X, data.y)
    labels, classes, b = one.predict(data.X), one.point_classes_, one.b_
    two = machine.fit(unit * data.X, data.y)
    assert two.certificate_.ok
    assert_allclose(two.predict(unit * data.X), labels)
    assert (two.point_classes_ == classes).all()
    power = 1 if isinstance(machine, SVMs1) else 2
    assert two.b_ == pytest.approx(b * unit**power, rel=1e-9)


def test_memory_is_that_of_the_support_vectors() -> None:
    """6,000 points: the kernel matrix has 288 MB; the rows of the free support vectors, a few."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 3000)
    X = rng.standard_normal((6000, 3)) + y[:, None]
    tracemalloc.start()
    machine = SVMs2(K=1.0, kernel="rbf", kernel_params={"gamma": 0.1}).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert machine.certificate_.ok
    assert peak < 100e6
