"""One BLAS thread for each test process.

The matrices of the tests are small. Several threads that share few cores with other processes wait for each other,
and a test of a fraction of a second takes minutes. This runs before anything imports NumPy.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
