"""A kernel that ends before it answers is started again."""

from __future__ import annotations

import pytest
from nbval import kernel

from tools import kernels


def failing(times: int, error: Exception) -> tuple[list[int], object]:
    calls: list[int] = []

    @kernels.again
    def start(number: int) -> int:
        calls.append(number)
        if len(calls) <= times:
            raise error
        return number

    return calls, start


ENDED = RuntimeError("Kernel died before replying to kernel_info")


pytestmark = pytest.mark.filterwarnings("ignore:Kernel died before replying")


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_kernel_is_started_until_it_answers(times: int) -> None:
    calls, start = failing(times, ENDED)
    assert start(7) == 7
    assert calls == [7] * (times + 1)


def test_a_second_start_is_reported() -> None:
    _, start = failing(1, ENDED)
    with pytest.warns(UserWarning, match="it is started again"):
        start(7)


def test_a_kernel_that_never_answers_is_an_error() -> None:
    calls, start = failing(9, ENDED)
    with pytest.raises(RuntimeError, match="before replying"):
        start(7)
    assert len(calls) == kernels.ATTEMPTS


@pytest.mark.parametrize(
    "error", [RuntimeError("Kernel died"), ValueError("Kernel died before replying")]
)
def test_other_errors_are_not_repeated(error: Exception) -> None:
    """A kernel that dies in the middle of a cell has a reason of its own."""
    calls, start = failing(1, error)
    with pytest.raises(type(error)):
        start(7)
    assert len(calls) == 1


def test_nbval_starts_its_kernels_so(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    started: list[str] = []

    def start(kernel_name: str, **kwargs: object) -> tuple[None, None]:
        started.append(kernel_name)
        if len(started) == 1:
            raise ENDED
        return None, None

    monkeypatch.setattr(kernel, "start_new_kernel", start)
    kernels.pytest_configure(pytestconfig)
    assert kernel.start_new_kernel(kernel_name="python3") == (None, None)
    assert started == ["python3", "python3"]
