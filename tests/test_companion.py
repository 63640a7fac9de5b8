"""The package itself: its parts come when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import companion


def test_parts_come_when_they_are_asked_for() -> None:
    code = (
        "import sys, companion\n"
        "assert 'companion.svm' not in sys.modules and 'numpy' not in sys.modules\n"
        "companion.svm.SVMs2()\n"
        "assert 'companion.svr' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_list_of_parts_is_complete() -> None:
    for name in dir(companion):
        assert getattr(companion, name) is not None
    assert {"admm", "kernels", "svm", "regression", "svr", "results"} <= set(dir(companion))


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(AttributeError, match=r"companion.* has no attribute 'svms'"):
        _ = companion.svms
