"""The base of the records that functions return: a readable summary.

A record prints as one short line per field (arrays by shape and first entries), and as a small
table in a notebook.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

import numpy as np


def _show(value: Any) -> str:
    """One line for one field. Numbers are rounded to what every machine reproduces."""
    if isinstance(value, np.ndarray):
        with np.printoptions(precision=4, suppress=True, threshold=6, edgeitems=3):
            text = np.array2string(value + 0.0, separator=", ").replace("\n", " ")
        return text if value.size <= 6 else f"{text}  shape {value.shape}"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return (", ".join(value) or "empty") if isinstance(value, dict) else str(value)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Record:
    """Base of the records, which are frozen dataclasses: a summary as `repr`, a table in notebooks."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(f.name, getattr(self, f.name)) for f in fields(self) if f.repr]
        return [(name, _show(value)) for name, value in rows if value is not None]

    def __repr__(self) -> str:
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join([type(self).__name__, *(f"  {n:<{width}}  {v}" for n, v in rows)])

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(n)}</th>"
            f"<td style='text-align:left'>{html.escape(v)}</td></tr>"
            for n, v in self._rows()
        )
        return f"<table><caption>{type(self).__name__}</caption><tbody>{body}</tbody></table>"
