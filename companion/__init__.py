"""Executable companion to five chapters on ADMM, kernels, support vector machines and regression.

One sub-package per chapter:

==========================  =========================================================
``companion.admm``          chapter 16: dual ascent, the method of multipliers, ADMM
``companion.kernels``       chapter 17: positive definite kernels
``companion.svm``           chapter 18: soft-margin support vector machines
``companion.regression``    chapter 19: ridge, lasso, elastic net
``companion.svr``           chapter 20: nu-SV regression
==========================  =========================================================

Chapters that are not there yet are not importable; ``CHANGELOG.md`` says which are.
"""

from importlib.metadata import version as _version

__version__ = _version("companion")
