"""Checks of the exercises: what is wrong with an answer and why, judged by mathematics, without saying the answer.

A check is called with the names that its exercise asks for and returns a `Feedback`. `Numbers` compares numbers, a
function under `check` does anything else: it raises `Wrong` with a message, or returns a remark on a right
answer. A mistake that many make has a message of its own.
"""

from __future__ import annotations

import base64
import functools
import html
import inspect
import json
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from companion.arithmetic import apart

__all__ = [
    "Feedback", "Number", "Numbers", "Wrong", "array", "check", "compare", "compare_functions", "gram_of", "number",
]  # fmt: skip

Mistakes = Iterable[tuple[Any, str]]  # a wrong answer, and what to say of it

ROUNDED = 1.01  # a number rounded to d digits is off by half a unit of the last one, and by the rounding of that sum


class Wrong(Exception):
    """An answer that is not right; the message says why, in the words of the exercise."""


@dataclass(frozen=True, repr=False)
class Feedback:
    """What a check says: whether the answer is right, and why not.

    Examples
    --------
    >>> Feedback(False, "lambda_3 exceeds K.")
    Not yet. lambda_3 exceeds K.
    """

    right: bool
    text: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{'Right.' if self.right else 'Not yet.'} {self.text}".strip()


def number(answer: Any, name: str) -> float:
    """Return an answer as a number; fractions such as ``"7/36"`` are numbers.

    Examples
    --------
    >>> number("1/4", "x")
    0.25
    >>> number([1, 2], "x")
    Traceback (most recent call last):
        ...
    companion.exercises.Wrong: `x` should be one number, but it is [1, 2].
    >>> check_one = Numbers(x=Number(1.0))
    >>> check_one(np.complex128(1 + 2j))
    Not yet. `x` should be one number, but it is np.complex128(1+2j).
    """
    value = math.nan
    with suppress(TypeError, ValueError, ZeroDivisionError, OverflowError):
        if np.isrealobj(answer) and not isinstance(answer, bool | np.bool_):
            value = float(Fraction(answer) if isinstance(answer, str) else answer)
    if not math.isfinite(value):
        raise Wrong(f"`{name}` should be one number, but it is {_short(answer)}.")
    return value


def array(answer: Any, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return an answer as an array of this shape, in which None stands for any length; fractions may be text.

    Examples
    --------
    >>> array(["1/2", 1], "w", (2,))
    array([0.5, 1. ])
    >>> array([1, 2, 3], "w", (2,))
    Traceback (most recent call last):
        ...
    companion.exercises.Wrong: `w` should have the shape (2,), but it has (3,).
    """
    try:
        given = np.asarray(answer, dtype=object)
        numbers = [number(entry, name) for entry in given.ravel().tolist()]
        value = np.array(numbers, dtype=float).reshape(given.shape)
    except (Wrong, ValueError) as error:
        raise Wrong(f"`{name}` should hold finite numbers, but it is {_short(answer)}.") from error
    sizes: tuple[int, ...] = value.shape
    if len(shape) != len(sizes) or any(m not in (None, n) for m, n in zip(shape, sizes)):
        wanted = str(tuple("any" if m is None else m for m in shape)).replace("'", "")
        raise Wrong(f"`{name}` should have the shape {wanted}, but it has {value.shape}.")
    return value


def compare(
    answer: Any, right: Any, name: str, *, digits: int = 4, mistakes: Mistakes = ()
) -> None:
    """Raise `Wrong` unless a number, or an array, agrees with the right one in so many significant digits.

    The unit is that of the right number, or of the largest number of an array; for 0 it is 1.

    Parameters
    ----------
    answer, right : float or array-like
    name : str
        What the answer is called.
    digits : int
        Significant digits that suffice.
    mistakes : iterable of (float or array-like, str)
        Wrong answers with what to say of them.

    Examples
    --------
    >>> compare("1/3", 1 / 3, "b"), compare(0.3333, 1 / 3, "b")
    (None, None)
    >>> compare(-0.3333, 1 / 3, "b", mistakes=[(-1 / 3, "The sign of b is the other one.")])
    Traceback (most recent call last):
        ...
    companion.exercises.Wrong: The sign of b is the other one.
    """
    right = np.asarray(right, dtype=float)
    value = array(answer, name, right.shape) if right.ndim else np.asarray(number(answer, name))
    if _close(value, right, digits):
        return
    for wrong, message in mistakes:
        wrong = np.asarray(wrong, dtype=float)
        if wrong.shape in ((), right.shape) and _close(value, wrong, digits):
            raise Wrong(message)
    if right.ndim == 0:
        raise Wrong(f"`{name}` = {value:.6g} is too {'large' if value > right else 'small'}.")
    off = tuple(int(i) for i in np.argwhere(~_near(value, right, digits))[0])
    place = ", ".join(map(str, off))
    raise Wrong(f"`{name}` is not right: look at the entry [{place}], which is {value[off]:.6g}.")


def compare_functions(
    answer: Any,
    right: Callable,
    arguments: Iterable[Sequence[Any]],
    name: str,
    *,
    digits: int = 6,
    mistakes: Iterable[tuple[Callable, str]] = (),
) -> None:
    """Raise `Wrong` unless a function agrees with the right one at all of these arguments.

    Parameters
    ----------
    answer, right : callable
    arguments : iterable of sequences
        Arguments of calls, the smallest first: one at which the answer fails is shown.
    name : str
        What the function is called.
    digits : int
        Significant digits in which the values have to agree.
    mistakes : iterable of (callable, str)
        Wrong functions with what to say of them. One is recognised if the answer agrees with it everywhere.

    Examples
    --------
    >>> half = [(lambda x: x, "The factor 1/2 is missing.")]
    >>> compare_functions(lambda x: x, lambda x: x / 2, [(1.0,), (3.0,)], "f", mistakes=half)
    Traceback (most recent call last):
        ...
    companion.exercises.Wrong: The factor 1/2 is missing.
    """
    calls = [tuple(given) for given in arguments]
    wanted = [np.asarray(right(*given), dtype=float) for given in calls]
    found = [_called(answer, given, name) for given in calls]
    values = [array(value, label, w.shape) for (value, label), w in zip(found, wanted)]
    off = [k for k, (v, w) in enumerate(zip(values, wanted)) if not _close(v, w, digits)]
    if not off:
        return
    for wrong, message in mistakes:
        if all(_close(v, np.asarray(wrong(*g)), digits) for v, g in zip(values, calls)):
            raise Wrong(message)
    raise Wrong(f"`{found[off[0]][1]}` = {_short(values[off[0]])} is not right.")


def gram_of(answer: Any, points: Sequence[Any], name: str) -> np.ndarray:
    """Return the matrix of a kernel at points; raise `Wrong` unless it is symmetric and positive semidefinite.

    Examples
    --------
    >>> gram_of(lambda x, y: x - y, [1.0, 3.0], "kappa")
    Traceback (most recent call last):
        ...
    companion.exercises.Wrong: `kappa` is not symmetric: kappa(1.0, 3.0) = -2, but kappa(3.0, 1.0) = 2.
    """
    G = np.array([[number(*_called(answer, (x, y), name)) for y in points] for x in points])
    size = float(np.abs(G).max())
    if np.abs(G - G.T).max() > 1e-9 * size:
        i, j = np.argwhere(np.abs(G - G.T) > 1e-9 * size)[0]
        (x, y), (one, two) = (points[i], points[j]), apart(G[i, j], G[j, i])
        here, there = _call(name, (x, y)), _call(name, (y, x))
        raise Wrong(f"`{name}` is not symmetric: {here} = {one}, but {there} = {two}.")
    smallest = float(np.linalg.eigvalsh(G)[0])
    if smallest < -1e-9 * size * len(G):
        raise Wrong(
            f"`{name}` is not positive definite: its matrix at {len(G)} points has the eigenvalue {smallest:.4g}."
        )
    return G


def check(function: Callable) -> Callable:
    """Make a check of a function of the reader's answers: it returns a `Feedback`, whatever it is given.

    Examples
    --------
    >>> @check
    ... def check_even(n):
    ...     if number(n, "n") % 2:
    ...         raise Wrong(f"{n} is odd.")
    >>> check_even(3), check_even(4), check_even(...)
    (Not yet. 3 is odd., Right., Not yet. `n` has no value: replace the dots.)
    """

    @functools.wraps(function)
    def judge(*answers: Any, **named: Any) -> Feedback:
        given = inspect.signature(function).bind(*answers, **named).arguments
        empty = [f"`{name}`" for name, answer in given.items() if answer is ... or answer is None]
        if empty:
            return Feedback(False, f"{', '.join(empty)} has no value: replace the dots.")
        try:
            return Feedback(True, function(**given) or "")
        except Wrong as wrong:
            return Feedback(False, str(wrong))

    judge._repr_html_ = lambda: _panel(judge, "")  # type: ignore[attr-defined]
    return judge


@dataclass(frozen=True)
class Number:
    """A right number, the digits that are asked for, and known wrong numbers with their messages.

    Parameters
    ----------
    right : float
    mistakes : iterable of (float, str)
    digits : int
        Significant digits that suffice.
    """

    right: float
    mistakes: Mistakes = ()
    digits: int = 4


class Numbers:
    """The check of an exercise whose answers are numbers; a page judges them without Python.

    Parameters
    ----------
    **answers : Number
        One for each name that the exercise asks for.

    Examples
    --------
    >>> check_area = Numbers(area=Number(0.5, [(1.0, "That is the square: the triangle is half of it.")]))
    >>> check_area(1), check_area("1/2"), check_area(0.4)
    (Not yet. That is the square: the triangle is half of it., Right., Not yet. `area` = 0.4 is too small.)
    """

    def __init__(self, **answers: Number) -> None:
        self.answers = answers

        def judge(**given: Any) -> None:
            for name, there in answers.items():
                compare(given[name], name=name, **vars(there))

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        judge.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in answers])  # type: ignore[attr-defined]
        self._judge = check(judge)

    def __call__(self, *answers: Any, **named: Any) -> Feedback:
        """Say whether these numbers are right."""
        return self._judge(*answers, **named)

    def __repr__(self) -> str:
        return f"the check of {', '.join(self.answers)}"

    def _repr_html_(self) -> str:
        known = [
            {
                "name": name, "right": _rounded(there.right), "digits": there.digits,
                "mistakes": [[_rounded(wrong), message] for wrong, message in there.mistakes],
            } for name, there in self.answers.items()
        ]  # fmt: skip
        return _panel(self._judge, base64.b64encode(json.dumps(known).encode()).decode())


def _panel(judge: Callable, known: str) -> str:
    """Return where a page puts its check, with what it needs to judge numbers by itself."""
    names = ", ".join(inspect.signature(judge).parameters)
    return (
        f'<div class="exercise-check" data-names="{html.escape(names)}" data-known="{known}">'
        f"Your answer: <code>{html.escape(names)}</code></div>"
    )


def _rounded(value: float) -> float:
    """Return a number in the digits that every processor computes."""
    return float(f"{value:.10g}")


def _near(value: np.ndarray, right: np.ndarray, digits: int) -> np.ndarray:
    """Return which entries agree in so many digits of the largest one."""
    size = float(np.abs(right).max(initial=0.0))
    unit = 10.0 ** (math.floor(math.log10(size)) - digits + 1) if size > 0.0 else 10.0**-digits
    return np.abs(value - right) <= 0.5 * ROUNDED * unit


def _close(value: np.ndarray, right: np.ndarray, digits: int) -> bool:
    return bool(_near(value, right, digits).all())


def _called(function: Callable, given: Sequence[Any], name: str) -> tuple[Any, str]:
    """Call the reader's function with copies; return its value, and the call as text."""
    if not callable(function):
        raise Wrong(f"`{name}` should be a function, but it is {_short(function)}.")
    label = _call(name, given)
    try:
        answer = function(*(np.copy(g) if isinstance(g, np.ndarray) else g for g in given))
    except Exception as error:  # whatever it is: it is an answer to the reader
        raise Wrong(f"`{label}` raised {type(error).__name__}: {error}.") from error
    if answer is None or answer is ...:
        raise Wrong(f"`{label}` returned nothing.")
    return answer, label


def _call(name: str, given: Sequence[Any]) -> str:
    return f"{name}({', '.join(map(_short, given))})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = np.array2string(value, precision=4, separator=", ").replace("\n", "")
        return value if len(value) <= 60 else f"{value[:57]}..."
    text = f"{value:.6g}" if isinstance(value, np.floating) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
