"""The classroom's notebook runs from top to bottom, as a student runs it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "classroom.ipynb"


@pytest.mark.slow
def test_the_notebook_runs_and_shows_times_and_pictures():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": NOTEBOOK.parent}}
    ).execute()
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    said = "".join(one.get("text", "") for one in outputs)
    assert "the digit is 7" in said
    assert "fused" in said
    assert " us\n" in said
    pictures = [one for one in outputs if "image/png" in one.get("data", {})]
    assert len(pictures) == 3


def test_the_notebook_is_kept_without_what_it_showed():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [
        cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs
    ] == []
