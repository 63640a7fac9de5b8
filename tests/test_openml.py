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

from companion.openml import _MD5, _SOURCES, YCG_SETS, ycg_set


class Answer(io.BytesIO):
    """What urlopen returns: a stream with headers."""

    def info(self):
        return {}


def arff(X, labels, classes):
    """A table in the format of the server; NaN is a question mark."""
    lines = ["@RELATION made_up"]
    lines += [f"@ATTRIBUTE column_{j} REAL" for j in range(X.shape[1])]
    lines += ["@ATTRIBUTE class {" + ",".join(classes) + "}", "@DATA"]
    for row, label in zip(X, labels):
        numbers = ["?" if np.isnan(value) else repr(float(value)) for value in row]
        lines.append(",".join([*numbers, label]))
    return ("\n".join(lines) + "\n").encode()


def server(data_id, X, labels, classes):
    """The four answers that a download consists of, by path."""
    table = arff(X, labels, classes)
    file = f"/data/v1/download/{data_id}/made_up.arff"
    features = [
        {
            "index": str(j),
            "name": "class" if j == X.shape[1] else f"column_{j}",
            "data_type": "nominal" if j == X.shape[1] else "numeric",
            "is_target": "true" if j == X.shape[1] else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for j in range(X.shape[1] + 1)
    ]
    description = {
        "id": str(data_id),
        "name": "made_up",
        "version": "1",
        "description": "made up",
        "format": "ARFF",
        "status": "active",
        "url": f"https://www.openml.org{file}",
        "file_id": str(data_id),
        "md5_checksum": hashlib.md5(table).hexdigest(),
    }
    base = "/api/v1/json/data"
    qualities = [{"name": "NumberOfInstances", "value": str(len(X))}]
    return {
        f"{base}/{data_id}": json.dumps({"data_set_description": description}).encode(),
        f"{base}/features/{data_id}": json.dumps({"data_features": {"feature": features}}).encode(),
        f"{base}/qualities/{data_id}": json.dumps({"data_qualities": {"quality": qualities}}).encode(),
        file: table,
    }  # fmt: skip


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """Return a function that puts answers online; anything else cannot be reached."""
    answers, asked = {}, []

    def urlopen(request, *args, **kwargs):
        path = urlparse(request.full_url).path
        asked.append(path)
        if path not in answers:
            raise URLError("no network in tests")
        return Answer(answers[path])

    monkeypatch.setattr(client, "urlopen", urlopen)
    monkeypatch.setattr(client.time, "sleep", lambda seconds: None)

    def online(name, X, labels, classes, md5=None):
        monkeypatch.setitem(_MD5, name, md5 or hashlib.md5(arff(X, labels, classes)).hexdigest())
        answers.update(server(_SOURCES[name].data_id, X, labels, classes))
        return str(tmp_path), asked

    online.home = str(tmp_path)
    return online


def made_up(name, seed=0):
    """A table with the shape and the class names of a set, and random numbers."""
    source, rng = _SOURCES[name], np.random.default_rng(seed)
    blue, red = source.blue[0], source.red[0]
    X = rng.standard_normal((source.rows, source.columns)).round(4)
    labels = np.where(rng.random(source.rows) < 0.4, blue, red)
    return X, labels, sorted({blue, red})


@pytest.mark.parametrize("name", YCG_SETS[:4])
def test_table_becomes_two_classes(openml, name):
    X, labels, classes = made_up(name)
    home, _ = openml(name, X, labels, classes)
    data = ycg_set(name, data_home=home)
    blue = labels == _SOURCES[name].blue[0]
    assert_allclose(data.u, X[blue])
    assert_allclose(data.v, X[~blue])
    assert data.names[0] == "column_0"


def test_rows_with_missing_values_are_left_out(openml):
    X, labels, classes = made_up("breast-cancer")
    gaps = X[:16].copy()
    gaps[:, 5] = np.nan
    home, _ = openml("breast-cancer", np.vstack([gaps, X]), np.append(labels[:16], labels), classes)
    data = ycg_set("breast-cancer", data_home=home)
    assert data.X.shape == (683, 9)
    assert_allclose(data.u, X[labels == "malignant"])


def test_digits_are_drawn_by_the_seed(openml):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["4", "6", "1"], [650, 640, 60]))
    X = rng.standard_normal((1350, 256)).round(1)
    home, asked = openml("usps-35", X, labels, [str(k) for k in range(1, 11)])
    data = ycg_set("usps-35", data_home=home)
    assert len(data.u) == len(data.v) == 600
    threes = {tuple(row) for row in X[labels == "4"]}
    assert all(tuple(row) in threes for row in data.u)
    before = len(asked)
    assert_array_equal(ycg_set("usps-35", data_home=home).X, data.X)
    assert len(asked) == before  # the second time from the copy
    assert not np.array_equal(ycg_set("usps-35", data_home=home, seed=1).X, data.X)


@pytest.mark.parametrize(("rows", "columns"), [(208, 59), (207, 60)])
def test_another_set_is_refused(openml, rows, columns):
    X, labels, classes = made_up("sonar")
    home, _ = openml("sonar", X[:rows, :columns], labels[:rows], classes)
    with pytest.raises(ValueError, match="sonar is 208 x 60 in the paper"):
        ycg_set("sonar", data_home=home)


def test_another_file_is_refused(openml):
    table = made_up("diabetes")
    known = hashlib.md5(arff(*table)).hexdigest()
    home, _ = openml("diabetes", *table, md5=known[::-1])
    with pytest.raises(ValueError, match=f"MD5 is {known}"):
        ycg_set("diabetes", data_home=home)


@pytest.mark.filterwarnings("ignore:A network error occurred")
def test_without_a_network(openml):
    with pytest.raises(ConnectionError, match=r"openml\.org"):
        ycg_set("sonar", data_home=openml.home)


def test_unknown_name():
    with pytest.raises(ValueError, match="name must be one of sonar"):
        ycg_set("titanic")
    with pytest.raises(ValueError, match="seed"):
        ycg_set("sonar", seed=-1)
