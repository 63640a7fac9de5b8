"""Executable companion to five chapters on ADMM, kernels, support vector machines and regression.

One sub-package per chapter:

==========================  =========================================================
``companion.admm``          chapter 16: dual ascent, the method of multipliers, ADMM
``companion.kernels``       chapter 17: positive definite kernels
``companion.svm``           chapter 18: soft-margin support vector machines
``companion.regression``    chapter 19: ridge, lasso, elastic net
``companion.svr``           chapter 20: nu-SV regression
==========================  =========================================================

What they share is in the modules beside them: ``results``, ``exceptions``, ``datasets``,
``figures``. Import what you use: ``from companion.admm import solve_qp``.
"""

import importlib
from pkgutil import iter_modules as _modules
from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    """Load a part when it is first asked for: ``import companion; companion.svm.SVMs2()``."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("optimization-companion")
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """Return the names of the parts."""
    return ["__version__", *(module.name for module in _modules(__path__))]
