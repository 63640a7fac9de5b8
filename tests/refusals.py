"""Tests that something wrong is refused with an error that names it, from a table."""

from collections.abc import Callable
from typing import Any

import pytest


def refusals(*rows: tuple[Any, ...]) -> Callable[..., None]:
    """Return a test: the call of each row raises its message, as a ValueError unless the row names another error."""

    @pytest.mark.parametrize("row", rows, ids=[row[1] for row in rows])
    def test(row: tuple[Any, ...]) -> None:
        call, message, *other = row
        (error,) = other or [ValueError]
        with pytest.raises(error, match=message):
            call()

    return test
