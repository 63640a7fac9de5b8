"""Chapter 17: positive definite kernels, and the Hilbert bases of Appendix A.

=============================================  ===================================================================
`Kernel` and its kinds, :func:`as_kernel`      the algebra: sums, products, powers, exponentials, compositions
:func:`polynomial_features` and others         explicit feature maps
:func:`gram`, :func:`center_gram`              Gram matrices, :func:`is_positive_definite` with a witness
`RKHSFunction`                                 finite expansions, the reproducing property, projections
`KernelPCA`                                    kernel principal components
`Fourier`, `Legendre`, :func:`expand`          orthogonal families, Bessel, Parseval, best approximation
=============================================  ===================================================================
"""

# fmt: off
# isort: off
from companion.kernels.features import polynomial_exponents, polynomial_features, subset_features, subsets
from companion.kernels.functions import Constant, Kernel
from companion.kernels.given import FromFunction
from companion.kernels.gram import Definiteness, center_gram, gram, is_positive_definite
from companion.kernels.hilbert import Expansion, Fourier, Legendre, expand
from companion.kernels.pca import KernelPCA
from companion.kernels.rkhs import RKHSFunction
from companion.kernels.sets import Agreement, Intersection, Subset, UnionComplement
from companion.kernels.vectors import Bilinear, FeatureMap, Gaussian, Linear, Polynomial, Sigmoid, as_kernel

__all__ = [
    "Agreement", "Bilinear", "Constant", "Definiteness", "Expansion", "FeatureMap", "Fourier", "FromFunction",
    "Gaussian", "Intersection", "Kernel", "KernelPCA", "Legendre", "Linear", "Polynomial", "RKHSFunction", "Sigmoid",
    "Subset", "UnionComplement", "as_kernel", "center_gram", "expand", "gram", "is_positive_definite",
    "polynomial_exponents", "polynomial_features", "subset_features", "subsets",
]
# isort: on
# fmt: on
