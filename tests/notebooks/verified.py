"""Every certified result of every notebook, verified exactly while the notebook ran (``make test-notebooks``).

No unit test: it reads what tools/recorder.py wrote to build/verified.
"""

import json
from collections import Counter

import pytest

from tools.notebooks import ROOT, pages
from tools.recorder import FOLDER, file_name

# Pages that show runs which are cut short, or the text's own algorithm at its own tolerance: how many of their
# results may say of themselves, rightly, that they are not solved to the tolerance of their certificate.
UNSOLVED = {
    "book/errata/chapter-18": {"QPResult": 10},
    "book/errata/chapter-20": {"QPResult": 7},
    "book/errata/indefinite-kernels": {"IndefiniteResult": 9},
    "book/errata/zaki-meira": {"TrainingResult": 6},
    "notebooks/about/how-fast": {"QPResult": 10},  # the text's ADMM guesses, cut after some steps
    "notebooks/admm/consensus": {"ADMMResult": 1},  # cut after some steps, to be taken up again
    "notebooks/admm/quadratic-programs": {"QPResult": 2},
    "notebooks/regression/elastic-net": {"ADMMResult": 6, "QPResult": 1},
    "notebooks/regression/lasso": {"ADMMResult": 3},
    "notebooks/regression/problems": {"QPResult": 2},  # the text's ADMM, at its own tolerance
    # some stop at the edge of their tolerance, on one side or the other by processor
    "notebooks/svm/indefinite-kernels": {"IndefiniteResult": 16, "QPResult": 2},
    "notebooks/svm/nu-svm": {"QPResult": 2},
    "notebooks/svm/penalised-bias": {"QPResult": 1},
    "notebooks/svm/problems": {"QPResult": 3},
    "notebooks/svm/quadratic-loss": {"QPResult": 12},
    "notebooks/svm/soft-margin-s1": {"QPResult": 1},
    "notebooks/svm/soft-margin-s2": {"QPResult": 4},
    "notebooks/svm/training-algorithms": {"TrainingResult": 17},
    "notebooks/svr/penalised-bias-regression": {"QPResult": 1},
    "notebooks/svr/solving-nu-svr": {"QPResult": 8},
}

PAGES = [str(path.relative_to(ROOT).with_suffix("")) for path in pages()]
KINDS = """
ADMMResult ElasticNet HardMarginSVC IndefiniteResult KernelRidge L1Path Lasso NuSVR NuSVRPenalizedBias QPResult
QuadraticNuSVR RidgeRegression SVMs1 SVMs2 SVMs2l SVMs2prime SVMs3 SVMs4 SVMs5 TrainingResult
"""


def report(page: str) -> dict:
    file = FOLDER / file_name(page)
    assert file.exists(), f"{file} is missing: run make test-notebooks first"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_the_whole_page_was_watched_and_every_result_is_what_it_says(page: str) -> None:
    cells = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code" and "".join(c["source"]).strip()]
    # tools/notebooks.py asks the kernel of a finished notebook once more, for its sliders
    assert report(page)["cells"] - len(code) in (0, 1)
    results = report(page)["results"]
    assert [r for r in results if r["verdict"] not in ("ok", "not ok")] == []
    unsolved = Counter(r["kind"] for r in results if r["verdict"] == "not ok")
    assert unsolved <= Counter(UNSOLVED.get(page, {}))


def test_all_kinds_of_results_occur() -> None:
    kinds = Counter(r["kind"] for page in PAGES for r in report(page)["results"])
    assert kinds.total() > 4000  # and more are made: see FIRST and EVERY in tools/recorder.py
    assert set(KINDS.split()) <= set(kinds)
    assert set(UNSOLVED) <= set(PAGES)
