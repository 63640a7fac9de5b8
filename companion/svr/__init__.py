"""Chapter 20: nu-SV regression and its relatives.

=============================  ================================================================
`NuSVR`                        Sections 20.1 to 20.4: nu-SV regression, with any kernel
`EpsilonSVR`                   Section 20.4: the width of the tube is given
`NuSVRPenalizedBias`           Section 20.5: version 2, with a penalized b
`QuadraticNuSVR`               Problems 20.5 and 20.6: squared slacks
:func:`tube_from_offsets`      the margins as order statistics, for a given w
=============================  ================================================================
"""

# fmt: off
# isort: off
from companion.svr.tube import (
    TUBE_CLASSES, EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, tube_from_offsets,
)

__all__ = ["TUBE_CLASSES", "EpsilonSVR", "NuSVR", "NuSVRPenalizedBias", "QuadraticNuSVR", "tube_from_offsets"]
# isort: on
# fmt: on
