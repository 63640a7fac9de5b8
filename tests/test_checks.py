"""Validation: right values pass unchanged, wrong ones are named in the message."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from companion.checks import (
    as_array,
    as_matrix,
    as_scalar,
    as_vector,
    check_count,
    reject_masked,
)


def test_vectors_of_every_kind_become_float64() -> None:
    for value in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.float32), np.ma.array([1, 2])):
        vector = as_vector(value, "b")
        assert vector.dtype == np.float64
        np.testing.assert_array_equal(vector, [1, 2])
    assert as_vector(3, "b").shape == (1,)


def test_matrices_of_every_kind_become_float64() -> None:
    for value in ([[1, 2]], sparse.csr_matrix([[1, 2]]), np.asfortranarray([[1.0, 2.0]])):
        np.testing.assert_array_equal(as_matrix(value, "A"), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, np.nan], r"b must be finite, got nan at \[1\]"),
        ([np.inf, 1], r"b must be finite, got inf at \[0\]"),
        ([[1, 2]], r"b must be a vector, got an array of shape \(1, 2\)"),
        ([1, 2, 3], "b must have length 2, got length 3"),
    ],
)
def test_bad_vectors(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_vector(value, "b", 2)


def test_infinite_bounds_may_pass_but_nan_may_not() -> None:
    assert as_vector([np.inf], "upper", finite=False)[0] == np.inf
    with pytest.raises(ValueError, match="must not contain NaN"):
        as_vector([np.nan], "upper", finite=False)


@pytest.mark.parametrize("value", ["text", ["a", "b"], [1j, 2], [[1], [2, 3]], object()])
def test_things_that_are_no_numbers(value: object) -> None:
    with pytest.raises(TypeError, match=r"^b must be"):
        as_vector(value, "b")


def test_masked_entries_are_refused() -> None:
    with pytest.raises(ValueError, match="masked"):
        as_vector(np.ma.array([1.0, 2.0], mask=[0, 1]), "b")


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ([1.0, 2.0], (None, None), r"A must be a matrix \(2-D\), got an array of shape \(2,\)"),
        ([[1.0, 2.0]], (None, 3), r"A must have shape \(any, 3\), got \(1, 2\)"),
        ([[1.0, np.nan]], (None, None), r"A must be finite, got nan at \[0, 1\]"),
    ],
)
def test_bad_matrices(value: object, shape: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_matrix(value, "A", shape)


def test_scalars() -> None:
    assert as_scalar(2, "rho", above=0) == 2.0
    assert as_scalar(np.float32(0.5), "nu", above=0, at_most=1) == 0.5
    assert as_scalar(np.array(0.5), "nu") == 0.5


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_scalars_out_of_range(value: float) -> None:
    with pytest.raises(ValueError, match=r"rho must be a finite number > 0, got"):
        as_scalar(value, "rho", above=0)


@pytest.mark.parametrize("value", [True, "1", None, [1.0], 1j])
def test_scalars_of_the_wrong_type(value: object) -> None:
    with pytest.raises(TypeError, match="rho must be a finite number > 0, got"):
        as_scalar(value, "rho", above=0)


def test_counts() -> None:
    assert check_count(np.int64(3), "max_iter") == 3
    for bad, error in [(0, ValueError), (1.5, TypeError), (True, TypeError), ("3", TypeError)]:
        with pytest.raises(error, match="max_iter must be an integer >= 1, got"):
            check_count(bad, "max_iter")


@pytest.mark.parametrize(
    "value",
    [
        np.array(["2024-01-31"], dtype="datetime64[D]"),
        np.array(["NaT"], dtype="timedelta64[s]"),
        pd.Series(pd.to_datetime(["2024-01-31"], utc=True)),
        pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2024-01-31"])}),
    ],
    ids=["date", "no time", "zone", "frame"],
)
def test_dates_are_no_numbers(value: object) -> None:
    with pytest.raises(TypeError, match="x must be an array of numbers, got dates"):
        reject_masked(value, "x")
    with pytest.raises(TypeError, match="x must be an array of numbers, got"):
        as_array(value, "x")


def test_nothing_is_no_number() -> None:
    with pytest.raises(TypeError, match="x must be an array of numbers, got None"):
        as_array(None, "x")


def test_a_number_is_shown_as_it_is_written() -> None:
    with pytest.raises(ValueError, match=r"got 0\.0$"):
        as_scalar(np.float64(0.0), "x", above=0)


class TestRange:
    """What float64 cannot square is refused at the door, by one message; ordinary units are not."""

    @pytest.mark.parametrize("size", [1e80, 1e200, 1e300])
    def test_large_numbers_are_refused_wherever_they_come(self, size):
        for door in (as_array, as_vector):
            with pytest.raises(ValueError, match=r"x has numbers of the size .* choose units"):
                door([1.0, -size], "x")
        with pytest.raises(ValueError, match=r"X has numbers of the size"):
            as_matrix([[1.0, size]], "X")
        with pytest.raises(ValueError, match=r"C has numbers of the size"):
            as_scalar(size, "C")

    def test_a_bound_may_be_infinite_and_no_larger_than_the_range(self):
        assert_array_equal(as_vector([1.0, np.inf], "upper", finite=False), [1.0, np.inf])
        with pytest.raises(ValueError, match="upper has numbers of the size"):
            as_vector([1e80, np.inf], "upper", finite=False)

    def test_positive_parameters_have_a_smallest_size_and_iterates_have_none(self):
        with pytest.raises(ValueError, match="sigma has numbers of the size 1e-80"):
            as_scalar(1e-80, "sigma", above=0.0)
        assert as_scalar(1e-80, "c", at_least=0.0) == 1e-80
        assert_array_equal(as_vector([1e-200], "v"), [1e-200])

    @pytest.mark.parametrize("size", [1e-8, 1.0, 1e8, 1e30])
    def test_ordinary_units_pass(self, size):
        assert as_scalar(size, "C", above=0.0) == size
        assert_array_equal(as_matrix([[size]], "X"), [[size]])
