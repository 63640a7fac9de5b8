"""A sheet of chosen exercises: no solution for students, the reference gets full marks, a known mistake its message."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools import sheet
from tools.exercises import exercises

CHECKED = [e for e in exercises() if e.check]
PROOFS = [e for e in exercises() if not e.check]
LABELS = ["exr-nu-svm-count", CHECKED[0].label, PROOFS[0].label]
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "course"
c.ExecutePreprocessor.timeout = c.ExecutePreprocessor.startup_timeout = 3600
c.ExecutePreprocessor.iopub_timeout = 3600  # after 4 s, an output that is late would be lost without a word
"""


def nbgrader(course: Path, *command: str) -> None:
    """Run a command of nbgrader, which calls alembic."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    how = {"cwd": course, "capture_output": True, "text": True, "env": {**os.environ, "PATH": path}}
    told = subprocess.run([sys.executable, "-m", "nbgrader", *command], **how, check=False)
    assert told.returncode == 0, told.stderr[-3000:]


def test_students_get_no_solution(tmp_path: Path) -> None:
    files = sheet.write_sheet(LABELS, tmp_path)
    students, solved, source = (nbformat.read(path, as_version=4) for path in files)
    text = "\n".join(cell.source for cell in students.cells)
    assert text.count("## ") == len(LABELS)
    assert "Solution" not in text
    assert ":class:" not in "\n".join(cell.source for cell in solved.cells)
    assert text.count("= ...") >= 2
    assert "**Solution.**" in "\n".join(cell.source for cell in solved.cells)
    assert "BEGIN SOLUTION" in "\n".join(cell.source for cell in source.cells)


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(SystemExit, match="exr-99"):
        sheet.chosen(["exr-99"])


def test_nbgrader_takes_a_sheet(tmp_path: Path) -> None:
    """One student hands in the reference, one a known mistake: marks and feedback tell them apart."""
    (tmp_path / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    sheet.write_sheet(LABELS[:1], tmp_path)
    nbgrader(tmp_path, "generate_assignment", "sheet", "--create")
    released = tmp_path / "release" / "sheet" / "sheet.ipynb"
    assert "BEGIN SOLUTION" not in released.read_text(encoding="utf-8")
    (exercise,) = sheet.chosen(LABELS[:1])
    wrong = "largest, failures, positive = 0.4, 12, 13"
    for student, answer in (("right", sheet.reference(exercise)), ("wrong", wrong)):
        handed = nbformat.read(released, as_version=4)
        for cell in handed.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = answer
        place = tmp_path / "submitted" / student / "sheet" / "sheet.ipynb"
        place.parent.mkdir(parents=True)
        nbformat.write(handed, place)
    nbgrader(tmp_path, "autograde", "sheet", "--create")
    nbgrader(tmp_path, "generate_feedback", "sheet")
    files = {s: tmp_path / f"feedback/{s}/sheet/sheet.html" for s in ("right", "wrong")}
    told = {s: file.read_text() for s, file in files.items()}
    score = {s: re.search(r"Score:\s*([\d.]+)\s*/\s*([\d.]+)", text) for s, text in told.items()}
    marks = {s: (float(match[1]), float(match[2])) for s, match in score.items()}
    assert marks == {"right": (sheet.POINTS, sheet.POINTS), "wrong": (0.0, sheet.POINTS)}
    assert "a factor 2 is missing" in told["wrong"]
