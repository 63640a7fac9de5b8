"""Chapter 18: support vector machines with hard and soft margins; how they are trained; indefinite kernels.

===========================  ==================================================================
`HardMarginSVC`              (SVM_h2): the widest slab free of points
`SVMs1`                      (SVM_s1): maximise the margin of a unit normal
`SVMs2`, `SVMs2l`            (SVM_s2): the C-SVM, and its linear program
`SVMs2prime`                 (SVM_s2'): the nu-SVM
`SVMs3`                      (SVM_s3): the nu-SVM with a penalized b
`SVMs4`, `SVMs5`             (SVM_s4), (SVM_s5): squared slacks, with b free and penalized
:func:`nu_min` and others    the range of nu, and scikit-learn's names
`dual_coordinate_ascent`     one multiplier at a time, for a machine with a penalized b
`primal_newton`              Newton's method for its weights, squared slacks
`primal_kernel_newton`       the same for the coefficients of a kernel expansion
`IndefiniteSVC`              a kernel that need not be positive definite
`solve_indefinite`           its saddle point, by three methods
`spectrum_transform`         clip, flip, shift the eigenvalues of a kernel matrix
===========================  ==================================================================
"""

# fmt: off
# isort: off
from companion.svm.hard_margin import HardMarginSVC
from companion.svm.hyperplanes import POINT_CLASSES, Slab
from companion.svm.indefinite import (
    IndefiniteObjective, IndefiniteResult, IndefiniteSVC, largest_linear, lipschitz_constant, nearest_psd, project_q1,
    proxy_kernel, solve_indefinite, spectrum_transform,
)
from companion.svm.program import DualProgram
from companion.svm.soft_margin import (
    DegenerateSolutionWarning, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5, nu_max, nu_min,
)
from companion.svm.training import (
    TrainingResult, augment, augmented_dual, dual_coordinate_ascent, primal_kernel_newton, primal_newton,
)

__all__ = [
    "POINT_CLASSES", "DegenerateSolutionWarning", "DualProgram", "HardMarginSVC", "IndefiniteObjective",
    "IndefiniteResult", "IndefiniteSVC", "SVMs1", "SVMs2", "SVMs2l", "SVMs2prime", "SVMs3", "SVMs4", "SVMs5", "Slab",
    "TrainingResult", "augment", "augmented_dual", "dual_coordinate_ascent", "largest_linear", "lipschitz_constant",
    "nearest_psd", "nu_max", "nu_min", "primal_kernel_newton", "primal_newton", "project_q1", "proxy_kernel",
    "solve_indefinite", "spectrum_transform",
]
# isort: on
# fmt: on
