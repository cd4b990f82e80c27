"""bench/size.py: how large the code is, and when growth is refused."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from size import fault, tokens

CHANGELOG = "# Changes\n\n## 0.2.0\n\n- Size: 1,050 tokens, because of a thing.\n\n## 0.1.0\n"


def test_comments_docstrings_and_layout_have_no_tokens(tmp_path):
    file = tmp_path / "module.py"
    file.write_text('"""Module."""\n\n# Why.\ndef f():\n    """Function."""\n    return "text"\n')
    assert tokens(file) == len(["def", "f", "(", ")", ":", "return", "text"])


def test_growth_of_three_percent_passes():
    assert fault(1030, 1000, "# Changes\n\n## 0.2.0\n") is None


def test_growth_that_the_changelog_names_passes():
    assert fault(1060, 1000, CHANGELOG) is None


def test_growth_beyond_what_the_changelog_names_is_refused():
    assert "1,100 tokens" in str(fault(1100, 1000, CHANGELOG))


def test_growth_that_an_older_section_names_is_refused():
    assert fault(1060, 1000, CHANGELOG.replace("## 0.2.0", "## 0.3.0\n\n## 0.2.0")) is not None
