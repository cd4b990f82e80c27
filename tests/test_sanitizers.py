"""`make sanitize` as a test: the native backends under ASan, UBSan and TSan."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("sanitize.sh")


@pytest.mark.slow
@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("setarch") and shutil.which("g++")),
    reason="the sanitizers' run times are preloaded with Linux's setarch and g++",
)
def test_native_backends_are_clean_under_the_sanitizers():
    """Builds twice and runs tests/sanitized on each build."""
    done = subprocess.run(
        ["bash", str(SCRIPT), sys.executable], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
