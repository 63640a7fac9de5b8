"""What holds for each test process; this runs before anything imports NumPy."""

import gc
import os

collect_ignore = ["book/_static"]  # what runs in the browser takes modules away that are not there

# The matrices of the tests are small. Several threads that share few cores with other processes wait for each other,
# and a test of a fraction of a second takes minutes.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Tests, and the trees of pages, are millions of small objects; almost none of them is garbage.
gc.set_threshold(100_000, 20, 20)


def pytest_collection_finish() -> None:
    """Never look for garbage among the libraries and the collected tests."""
    gc.collect()
    gc.freeze()
