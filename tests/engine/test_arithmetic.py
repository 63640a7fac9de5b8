"""What all rooms share: whether a matrix is symmetric."""

import numpy as np
import pytest

from companion.engine.arithmetic import is_symmetric
from companion.kernels import Gaussian, KernelPCA
from companion.regression import KernelRidge
from companion.svm import SVMs2


# For 44 and 710 the sum of the cosines nearly vanishes.
@pytest.mark.parametrize("n", [2, 44, 710, 1000])
def test_one_entry_that_differs_from_its_mirror_image_is_seen(n: int) -> None:
    """The rounding of a product is some n eps of the matrix, far below 1e-10; 1e-6 of it is not."""
    X, ones = np.random.default_rng(n).standard_normal((n, 5)), np.ones((n, n))
    for P in (ones, np.eye(n), X @ X.T, ones - np.eye(n)):
        assert is_symmetric(P)
        P[0, -1] += 1e-6 * np.abs(P).max()
        assert not is_symmetric(P)


@pytest.mark.parametrize("model", [SVMs2, KernelRidge, KernelPCA])
def test_a_large_gram_matrix_with_one_wrong_entry_is_refused(model: type) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 3)), np.where(np.arange(1000) % 2, 1, -1)
    K = Gaussian(1.0)(X)
    K[3, 7] += 1e-3
    with pytest.raises(ValueError, match="symmetric"):
        model(kernel="precomputed").fit(K, y)
