"""The paper's sets from openml.org: the loader against small answers in the server's format, without a network."""

import hashlib
import io
import json
from urllib.error import URLError
from urllib.parse import urlparse

import numpy as np
import pytest
import sklearn.datasets._openml as client
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.openml import MD5, SOURCES, YCG_SETS, ycg_set


class Answer(io.BytesIO):
    """What urlopen returns: a stream with headers."""

    def info(self):
        return {}


def answers(data_id, X, labels):
    """The four answers that a download consists of, by path, and the checksum of the table; NaN is a question mark."""
    columns = [f"column_{j}" for j in range(X.shape[1])]
    rows = [
        [*("?" if np.isnan(x) else repr(float(x)) for x in row), a] for row, a in zip(X, labels)
    ]
    lines = ["@RELATION made_up", *(f"@ATTRIBUTE {c} REAL" for c in columns)]
    lines += ["@ATTRIBUTE class {" + ",".join(sorted(set(labels))) + "}", "@DATA"]
    table = "\n".join([*lines, *map(",".join, rows), ""]).encode()
    md5, base = hashlib.md5(table).hexdigest(), "/api/v1/json/data"
    file = f"/data/v1/download/{data_id}/made_up.arff"
    flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    features = [
        {"index": str(j), "name": name, "data_type": kind, "is_target": target, **flags}
        for j, (name, kind, target) in enumerate(
            [*((c, "numeric", "false") for c in columns), ("class", "nominal", "true")]
        )
    ]
    description = {
        "id": str(data_id), "name": "made_up", "version": "1", "description": "made up", "format": "ARFF",
        "status": "active", "url": f"https://www.openml.org{file}", "file_id": str(data_id), "md5_checksum": md5,
    }  # fmt: skip
    qualities = [{"name": "NumberOfInstances", "value": str(len(X))}]
    tables = {
        f"{base}/{data_id}": {"data_set_description": description},
        f"{base}/features/{data_id}": {"data_features": {"feature": features}},
        f"{base}/qualities/{data_id}": {"data_qualities": {"quality": qualities}},
    }
    return {path: json.dumps(t).encode() for path, t in tables.items()} | {file: table}, md5


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """Return a function that puts a set online and loads it; anything else cannot be reached."""
    there, asked = {}, []

    def urlopen(request, *args, **kwargs):
        path = urlparse(request.full_url).path
        asked.append(path)
        if path not in there:
            raise URLError("no network in tests")
        return Answer(there[path])

    monkeypatch.setattr(client, "urlopen", urlopen)
    monkeypatch.setattr(client.time, "sleep", lambda seconds: None)

    def load(name, X=None, labels=None, md5=None, **options):
        if X is not None:
            found, checksum = answers(SOURCES[name].data_id, X, labels)
            monkeypatch.setitem(MD5, name, md5 or checksum)
            there.update(found)
        return ycg_set(name, data_home=str(tmp_path), **options)

    load.asked = asked
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
    X, blue = X[missing:], labels[missing:] == SOURCES[name].blue[0]
    assert_allclose(data.u, X[blue])
    assert_allclose(data.v, X[~blue])
    assert data.names[0] == "column_0"


def test_digits_are_drawn_by_the_seed(openml):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["4", "6", "1"], [610, 605, 10]))
    X = rng.standard_normal((len(labels), 256)).round(1)
    data = openml("usps-35", X, labels)
    assert len(data.u) == len(data.v) == 600
    assert {tuple(row) for row in data.u} <= {tuple(row) for row in X[labels == "4"]}
    before = len(openml.asked)
    assert_array_equal(openml("usps-35").X, data.X)
    assert len(openml.asked) == before  # the second time from the copy
    assert not np.array_equal(openml("usps-35", seed=1).X, data.X)


def test_another_set_is_refused(openml):
    X, labels = made_up("sonar")
    with pytest.raises(ValueError, match="sonar is 208 x 60 in the paper"):
        openml("sonar", X[:207, :59], labels[:207])
    with pytest.raises(ValueError, match=r"another file than it was: its MD5 is \w+, not no"):
        openml("diabetes", *made_up("diabetes"), md5="no")


@pytest.mark.filterwarnings("ignore:A network error occurred")
def test_without_a_network_and_without_a_name(openml):
    with pytest.raises(ConnectionError, match=r"openml\.org"):
        openml("sonar")
    with pytest.raises(ValueError, match="name must be one of sonar"):
        openml("titanic")
    with pytest.raises(ValueError, match="seed"):
        openml("sonar", seed=-1)
