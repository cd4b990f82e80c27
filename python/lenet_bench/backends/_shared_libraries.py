"""Find the library that a native rung stands on, wherever pip put it.

The modules look beside themselves (their RUNPATH), which is right where one environment holds
all. This is for the rest: a user's site, another prefix, an overlay.
"""

import ctypes
from importlib.metadata import PackageNotFoundError, files

from ..errors import Unavailable


def preload(library: str, *, of: str, needed_by: ImportError) -> None:
    """Load `library` from the distribution `of`, so that the next import of the module finds it.

    Raises ImportError or Unavailable where that cannot help.
    """
    if isinstance(needed_by, ModuleNotFoundError):
        raise Unavailable(
            f"lenet-bench was built without {of}, which its platform lacks or pip left out; in its "
            "source folder, mend it with: pip install -v --force-reinstall --no-deps ."
        ) from needed_by
    try:
        installed = files(of) or []
    except PackageNotFoundError:
        raise needed_by from None  # `load` names the extra that brings it
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
