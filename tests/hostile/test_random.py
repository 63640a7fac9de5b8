"""Small arrays of dangerous numbers, of any shape, drawn at random: a proved answer, a warning, or a named error."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.hostile.public import ESTIMATORS, TARGETS
from tests.hostile.test_estimators import judge, labels, options
from tests.hostile.test_functions import CERTIFIED, judge_call

# Powers of two, so that means and centred data have no rounding. Large data beside a penalty of 1 are another
# matter: it counts relative to A'b, and is lost in rounding there (test_functions.py has the far ends one at a time).
SCALES = (0, 0, 0, -990, -500, -27, -13)
NEAR = (0, 0, -6)
NEVER = (np.nan, np.inf, -np.inf)

often = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@st.composite
def dangerous(draw: Any, shape: Any, scales: tuple[int, ...] = SCALES) -> np.ndarray:
    """Small numbers of one size, with zeros and ties; now and then one that is not finite."""
    entries = st.sampled_from([-2.0, -1.0, 0.0, 0.25, 1.0, 2.0, 3.0])
    array = np.ldexp(draw(arrays(float, shape, elements=entries)), draw(st.sampled_from(scales)))
    if array.size and draw(st.integers(0, 7)) == 0:
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(NEVER))
    return array


@st.composite
def samples(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, labels and values; now and then of different numbers."""
    n, d = draw(st.integers(0, 6)), draw(st.integers(0, 3))
    X = draw(dangerous((n, d)))
    m = draw(st.sampled_from([n, n, n, n, n + 1]))
    return X, draw(arrays(float, m, elements=st.sampled_from([-1.0, 1.0]))), draw(dangerous(m))


@pytest.mark.parametrize("name", ESTIMATORS)
@often
@given(data=samples(), gaussian=st.booleans())
def test_estimators(name: str, data: tuple[np.ndarray, ...], gaussian: bool) -> None:
    X, *y = data
    judge(name, X, labels(name, *y), **options(name, gaussian))


@pytest.mark.parametrize("name", CERTIFIED)
@settings(often, max_examples=60)
@given(draw=st.data())
def test_solvers(name: str, draw: Any) -> None:
    target = TARGETS[name]
    drawn = {
        argument: draw.draw(dangerous(value.shape, NEAR), label=argument)
        for argument, value in target.arrays.items()
    }
    if "P" in drawn:
        with np.errstate(all="ignore"):
            drawn["P"] = drawn["P"] @ drawn["P"].T
    before = {argument: value.copy() for argument, value in drawn.items()}
    judge_call(target, **drawn)
    for argument, value in before.items():
        assert np.array_equal(drawn[argument], value, equal_nan=True), argument
