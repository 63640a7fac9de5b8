"""Boards of points that the reader drags, adds and removes, while a program of the text is solved again.

One call makes a board: a widget in a running notebook, a picture that JavaScript makes alive in the rendered book. In
both, solvers in the browser follow the points without delay; they are tested against the package.

A board imports the machines that it fits when it fits them: a page with the board of chapter 16 does without those of
the others, and without scikit-learn.
"""

from companion.boards.board import Board, BoardPicture
from companion.boards.gram import gram_board
from companion.boards.point import point_board
from companion.boards.steps import step_board
from companion.boards.tube import tube_board
from companion.boards.weights import weight_board

__all__ = ["Board", "BoardPicture"]
__all__ += ["gram_board", "point_board", "step_board", "tube_board", "weight_board"]
