"""`make sanitize` as a test: the native backends under ASan, UBSan and TSan."""

import shutil
import sys
from pathlib import Path

import pytest
from processes import ran

SCRIPT = Path(__file__).with_name("sanitize.sh")


@pytest.mark.slow
@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("setarch") and shutil.which("g++")),
    reason="the sanitizers' run times are preloaded with Linux's setarch and g++",
)
def test_native_backends_are_clean_under_the_sanitizers():
    """Builds twice and runs tests/sanitized on each build."""
    ran("bash", SCRIPT, sys.executable, timeout=1800)
