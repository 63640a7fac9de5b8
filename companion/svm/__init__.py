"""Chapter 18: support vector machines with hard and soft margins.

=========================  ====================================================================
`HardMarginSVC`            (SVM_h2): the widest slab free of points
`SVMs1`                    (SVM_s1): maximise the margin of a unit normal
`SVMs2`, `SVMs2l`          (SVM_s2): the C-SVM, and its linear program
`SVMs2prime`               (SVM_s2'): the nu-SVM
`SVMs3`                    (SVM_s3): the nu-SVM with a penalized b
`SVMs4`, `SVMs5`           (SVM_s4), (SVM_s5): squared slacks, with b free and penalized
:func:`nu_min` and others  the range of nu, and scikit-learn's names
=========================  ====================================================================
"""

from companion.svm.bounds import nu_max, nu_min
from companion.svm.estimator import DegenerateSolutionWarning, DualProgram
from companion.svm.hard_margin import HardMarginSVC
from companion.svm.mapping import from_sklearn, to_sklearn
from companion.svm.slab import POINT_CLASSES
from companion.svm.soft_margin import SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5

__all__ = [
    "POINT_CLASSES",
    "DegenerateSolutionWarning",
    "DualProgram",
    "HardMarginSVC",
    "SVMs1",
    "SVMs2",
    "SVMs2l",
    "SVMs2prime",
    "SVMs3",
    "SVMs4",
    "SVMs5",
    "from_sklearn",
    "nu_max",
    "nu_min",
    "to_sklearn",
]
