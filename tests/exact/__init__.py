"""Results of the package, examined in exact arithmetic: one proof per form of a problem, and what a result claims."""

from tests.exact.results import verify as verify
