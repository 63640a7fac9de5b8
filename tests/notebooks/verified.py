"""Every certified result of every notebook, verified exactly while the notebook ran (``make test-notebooks``).

No unit test: it reads what tests/notebooks/recorder.py wrote to build/verified.
"""

import json
from collections import Counter

import pytest

from tests.notebooks.recorder import FOLDER, file_name
from tools.notebooks import ROOT, pages

# The cells that show runs which are cut short, or the text's own algorithm at its own tolerance: results there may say
# of themselves, rightly, that they are not solved to the tolerance of their certificate. How many do depends on the
# processor, where they stop at the edge of their tolerance.
UNSOLVED = {
    "book/errata/chapter-18": {"QPResult": "c021 c025 c047 c059 c068 c086 c097"},
    "book/errata/chapter-20": {"QPResult": "c023 c047 c051"},
    "book/errata/zaki-meira": {"TrainingResult": "c033"},
    # the text's ADMM guesses, cut after some steps
    "notebooks/about/how-fast": {"QPResult": "c018"},
    "notebooks/admm/quadratic-programs": {"QPResult": "c038"},
    "notebooks/regression/elastic-net": {"ADMMResult": "c031 c038", "QPResult": "c019"},
    "notebooks/regression/lasso": {"ADMMResult": "c022"},
    # the text's ADMM, at its own tolerance
    "notebooks/regression/problems": {"QPResult": "c028 ch1920-answer-19-8"},
    "notebooks/svm/indefinite-kernels": {
        "IndefiniteResult": "c034 c036 c039 c040 c045 c050",
        "QPResult": "c041 c045",
    },
    "notebooks/svm/nu-svm": {"QPResult": "c043 c047"},
    "notebooks/svm/penalised-bias": {"QPResult": "c027"},
    "notebooks/svm/problems": {"QPResult": "c046 c050"},
    "notebooks/svm/quadratic-loss": {"QPResult": "c018 c020"},
    "notebooks/svm/soft-margin-s1": {"QPResult": "c041"},
    "notebooks/svm/soft-margin-s2": {"QPResult": "c040"},
    "notebooks/svm/training-algorithms": {"TrainingResult": "c045 c006 c011 ch18-smo-fig c019"},
    "notebooks/svr/penalised-bias-regression": {"QPResult": "c014"},
    "notebooks/svr/solving-nu-svr": {"QPResult": "c012 c023 c045"},
}
# A cell whose rows are elsewhere: a result knows no more than what came back.
ELSEWHERE = "notebooks/admm/consensus", "admm-cons-network"

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
    results = [
        r for r in report(page)["results"]
        if r["verdict"] != "does not know its problem" or (page, code[r["cell"]]["id"]) != ELSEWHERE
    ]  # fmt: skip
    assert [r for r in results if r["verdict"] not in ("ok", "not ok")] == []
    cut = UNSOLVED.get(page, {})
    shown = {(kind, name) for kind, names in cut.items() for name in names.split()}
    unsolved = {(r["kind"], code[r["cell"]]["id"]) for r in results if r["verdict"] == "not ok"}
    assert unsolved <= shown
    assert {name for _, name in shown} <= {cell["id"] for cell in code}


def test_all_kinds_of_results_occur() -> None:
    kinds = Counter(r["kind"] for page in PAGES for r in report(page)["results"])
    assert (
        kinds.total() > 4000
    )  # and more are made: see FIRST and EVERY in tests/notebooks/recorder.py
    assert set(KINDS.split()) <= set(kinds)
    assert set(UNSOLVED) <= set(PAGES)
