"""The paper's sets from openml.org: what the loader makes of a table, without a network."""

from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from benchmarks import openml as loader
from benchmarks.openml import SOURCES, YCG_SETS


@pytest.fixture
def openml(monkeypatch):
    """Return a function that loads a set which is online with these points; without them nothing can be reached."""

    def load(name, X=None, labels=None, md5="", **options):
        def fetch(data_id, **options):
            if X is None or data_id != SOURCES[name].data_id:
                raise URLError("no network in tests")
            columns = [f"column_{j}" for j in range(X.shape[1])]
            details = {"md5_checksum": md5 or loader.MD5.get(name)}
            return Bunch(data=X, target=labels, feature_names=columns, details=details)

        monkeypatch.setattr(loader, "fetch_openml", fetch)
        return loader.ycg_set(name, **options)

    return load


def made_up(name, missing=0):
    """Random numbers with the shape and the class names of a set, and rows with gaps in front."""
    source, rng = SOURCES[name], np.random.default_rng(0)
    X = rng.standard_normal((missing + source.rows, source.columns)).round(4)
    X[:missing, 5] = np.nan
    return X, np.where(rng.random(len(X)) < 0.4, source.blue[0], source.red[0])


@pytest.mark.parametrize("name", YCG_SETS[:5])
def test_table_becomes_two_classes(openml, name):
    """Rows with missing values are left out."""
    missing = 16 * (name == "breast-cancer")
    X, labels = made_up(name, missing)
    data = openml(name, X, labels)
    blue = labels[missing:] == SOURCES[name].blue[0]
    assert_allclose(data.u, X[missing:][blue])
    assert_allclose(data.v, X[missing:][~blue])
    assert data.names[0] == "column_0"


def test_digits_are_drawn_by_the_seed(openml):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["4", "6", "1"], [610, 605, 10]))
    X = rng.standard_normal((len(labels), 256)).round(1)
    data, again, other = (openml("usps-35", X, labels, seed=seed) for seed in (0, 0, 1))
    assert len(data.u) == len(data.v) == 600
    assert {tuple(row) for row in data.u} <= {tuple(row) for row in X[labels == "4"]}
    assert_array_equal(again.X, data.X)
    assert not np.array_equal(other.X, data.X)


def test_what_is_no_set_of_the_paper_is_refused(openml):
    X, labels = made_up("sonar")
    for arguments, options, error, message in (
        (("sonar", X[:207, :59], labels[:207]), {}, ValueError, "sonar is 208 x 60 in the paper"),
        (("diabetes", *made_up("diabetes")), {"md5": "no"}, ValueError, r"its MD5 is no, not \w+"),
        (("breast-cancer",), {}, ConnectionError, r"openml\.org"),  # without a network
        (("titanic",), {}, ValueError, "name must be one of sonar"),
        (("sonar",), {"seed": -1}, ValueError, "seed"),
    ):
        with pytest.raises(error, match=message):
            openml(*arguments, **options)
