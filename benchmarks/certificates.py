"""Are certified answers right? Random fits of hard families, judged in exact arithmetic by the tests' own judge.

Run ``python -m benchmarks certificates``; with ``--store`` the page "How far to trust it" shows the new figures. The
judge, `tests.exact.judge`, evaluates the stored hyperplane and a lower bound of the optimal value from the data, with
a thousand bits. Prices of slack reach from 1e-8 to 1e20 of their natural unit.
"""

from __future__ import annotations

import argparse
from collections import Counter

from benchmarks import store
from tests.exact.test_judge import ALL, KINDS, REGRESSIONS, outcome

FITS = 20  # of each estimator in each family


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/certificates.json"
    )
    arguments = parser.parse_args()
    rows = []
    for kind in KINDS:
        counts = {group: Counter() for group in ("classifiers", "tubes", "regressions")}
        for maker in ALL:
            regression = "regressions" if maker in REGRESSIONS else "tubes"
            name = "classifiers" if hasattr(maker, "decision_function") else regression
            counts[name].update(outcome(maker, kind, seed) for seed in range(1000, 1000 + FITS))
        for name, found in counts.items():
            row = {key: found[key] for key in ("right", "wrong", "flagged", "refused")}
            rows.append({"family": kind, "estimators": name, **row})
            print(rows[-1], flush=True)
    if arguments.store:
        store("certificates", rows)


if __name__ == "__main__":
    main()
