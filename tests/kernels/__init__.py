"""What the tests of the kernels share."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

seeds = st.integers(0, 2**32 - 1)


def for_all(*strategies):
    """A test tries thirty examples."""
    return lambda test: settings(max_examples=30)(given(*strategies)(test))


def normal(seed, *shape, is_complex=True):
    """An array of independent normal numbers."""
    parts = np.random.default_rng(seed).standard_normal((*shape, 2))
    return parts @ [1, 1j] if is_complex else parts[..., 0]
