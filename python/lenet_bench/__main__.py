"""`lenet-bench`, and `python -m lenet_bench`."""

import sys


def main() -> None:
    """Import the command line and run it; Ctrl-C during the import ends quietly, too."""
    try:
        from . import cli
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:  # of click, as after `pip install --no-deps`
        from .errors import incomplete

        sys.exit(f"lenet-bench: {incomplete(error)}")
    cli.main()


if __name__ == "__main__":
    main()
