"""The data sets of YCG's experiments, from openml.org. They are not bundled with scikit-learn, so this needs a network.

The six sets belong to their donors; nothing of them is part of this project. scikit-learn keeps a copy of what it
downloads in the folder ``data_home`` (by default ``~/scikit_learn_data``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

import numpy as np
from sklearn.datasets import fetch_openml

from companion.checks import check_count
from companion.datasets import TwoClasses


@dataclass(frozen=True)
class Source:
    """Where a set is, and how the right one is recognised."""

    data_id: int
    columns: int
    blue: tuple[str, ...]
    red: tuple[str, ...]
    rows: int
    each: int | None = None  # points drawn from each class


SOURCES = {
    "sonar": Source(40, 60, ("Mine",), ("Rock",), 208),
    "ionosphere": Source(59, 34, ("g",), ("b",), 351),
    "heart": Source(53, 13, ("present",), ("absent",), 270),
    "diabetes": Source(37, 8, ("tested_positive",), ("tested_negative",), 768),
    "breast-cancer": Source(15, 9, ("malignant",), ("benign",), 683),
    # the ten classes are numbered from 1: digit 3 is class 4, digit 5 is class 6
    "usps-35": Source(41082, 256, ("4",), ("6",), 1200, each=600),
}

YCG_SETS = tuple(SOURCES)
# Of the files, as openml.org publishes them; scikit-learn compares file and publication.
MD5 = {"diabetes": "3cbaa3e54586aa88cf6aacb4033e4470"}


def ycg_set(name: str, *, data_home: str | None = None, seed: int = 0) -> TwoClasses:
    """Return one of the six data sets of YCG's Table 3, downloaded from openml.org or read from a kept copy.

    Parameters
    ----------
    name : str
        ``"sonar"`` (208 x 60), ``"ionosphere"`` (351 x 34), ``"heart"`` (270 x 13), ``"diabetes"`` (768 x 8),
        ``"breast-cancer"`` (683 x 9; rows with missing values are left out), or ``"usps-35"``: 600 threes and 600
        fives (1200 x 256), drawn by `seed`.
    data_home : str, optional
        Folder for the copies; see :func:`sklearn.datasets.fetch_openml`.
    seed : int
        Seed of the draw, for ``"usps-35"``.

    Returns
    -------
    TwoClasses
        Blue are mines, good radar returns, present disease, positive tests, malignant tumours, threes.

    Raises
    ------
    ValueError
        If the name is unknown, or what was downloaded is not the set that the paper describes.
    ConnectionError
        If openml.org cannot be reached and there is no copy.

    Notes
    -----
    Source: YCG Section 5.

    Examples
    --------
    >>> YCG_SETS
    ('sonar', 'ionosphere', 'heart', 'diabetes', 'breast-cancer', 'usps-35')
    """
    if name not in SOURCES:
        raise ValueError(f"name must be one of {', '.join(YCG_SETS)}, got {name!r}")
    source, seed = SOURCES[name], check_count(seed, "seed", at_least=0)
    try:
        raw: Any = fetch_openml(
            data_id=source.data_id, data_home=data_home, as_frame=False, parser="liac-arff"
        )
    except URLError as error:
        raise ConnectionError(
            f"{name} comes from openml.org (data set {source.data_id}), which could not be reached: {error}"
        ) from error
    md5 = raw.details["md5_checksum"]
    if MD5.get(name, md5) != md5:
        raise ValueError(f"{name} is another file than it was: its MD5 is {md5}, not {MD5[name]}")
    X, labels = np.asarray(raw.data, dtype=float), np.asarray(raw.target).astype(str)
    complete = np.isfinite(X).all(axis=1)
    X, labels = X[complete], np.char.strip(labels[complete], " '\"")
    blue, red = X[np.isin(labels, source.blue)], X[np.isin(labels, source.red)]
    if source.each is not None:
        rng = np.random.default_rng(seed)
        blue, red = (_draw(points, source.each, rng) for points in (blue, red))
    if (len(blue) + len(red), X.shape[1]) != (source.rows, source.columns):
        raise ValueError(
            f"{name} is {source.rows} x {source.columns} in the paper, but data set {source.data_id} of openml.org "
            f"gives {len(blue)} blue and {len(red)} red points with {X.shape[1]} columns"
        )
    return TwoClasses(blue, red, tuple(str(column) for column in raw.feature_names))


def _draw(points: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    size = min(size, len(points))
    return points[np.sort(rng.choice(len(points), size=size, replace=False))]
