"""Kernels that start, also when a port is taken.

Jupyter looks for free ports and hands them to a new kernel, which opens them a second later. Where several kernels
start and end at once, one of the ports may be in use by then, and the kernel ends before it answers. It is started
again, with other ports. As a plugin of pytest (``-p tools.kernels``) this holds for nbval.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    import pytest

P = ParamSpec("P")
T = TypeVar("T")

ATTEMPTS = 3
ENDED = "Kernel died before replying"  # jupyter_client's words


def again(start: Callable[P, T]) -> Callable[P, T]:
    """Return `start`, which is tried again when a kernel ends before it answers."""

    @functools.wraps(start)
    def started(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return start(*args, **kwargs)
            except RuntimeError as error:
                if ENDED not in str(error):
                    raise
                warnings.warn(f"{error}; it is started again", stacklevel=2)
        return start(*args, **kwargs)

    return started


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval's kernels start again."""
    import nbval.kernel

    nbval.kernel.start_new_kernel = again(nbval.kernel.start_new_kernel)
