"""Find the library that a native rung stands on, wherever pip put it.

The modules look beside themselves (their RUNPATH), which is right where one environment holds
all. This is for the rest: a user's site, another prefix, an overlay.
"""

import ctypes
from importlib.metadata import PackageNotFoundError, files

from ..errors import Unavailable


def preload(library: str, *, of: str, needed_by: ImportError) -> None:
    """Load `library` from the distribution `of`, so that the next import of the module finds it.

    Raises Unavailable where that cannot help.
    """
    if isinstance(needed_by, ModuleNotFoundError):
        raise Unavailable(
            f"lenet-bench was built without {of}; mend it with: "
            "pip install --force-reinstall --no-deps --no-cache-dir lenet-bench"
        ) from needed_by
    try:
        installed = files(of) or []
    except PackageNotFoundError:
        raise Unavailable(f"{library} is not here; mend it with: pip install {of}") from needed_by
    for file in sorted(installed, key=lambda file: len(file.name)):
        if file.name.startswith(f"{library}."):
            try:
                ctypes.CDLL(str(file.locate()))
            except OSError as error:
                raise Unavailable(
                    f"{library} cannot be loaded ({error}); mend it with: "
                    f"pip install --force-reinstall {of}"
                ) from needed_by
            return  # pip unpacks the library once for each of its names
