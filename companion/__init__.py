"""Executable companion to five chapters on ADMM, kernels, support vector machines and regression.

One sub-package per chapter:

==========================  =========================================================
``companion.admm``          chapter 16: dual ascent, the method of multipliers, ADMM
``companion.kernels``       chapter 17: positive definite kernels
``companion.svm``           chapter 18: soft-margin support vector machines
``companion.regression``    chapter 19: ridge, lasso, elastic net
``companion.svr``           chapter 20: nu-SV regression
==========================  =========================================================

What they share is in the modules beside them: ``results``, ``certificates``, ``exceptions``, ``datasets``,
``plotting``, ``widgets``. Import what you use: ``from companion.admm import solve_qp``.
"""

from importlib.metadata import version as _version

__version__ = _version("companion")
