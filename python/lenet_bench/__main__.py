"""`lenet-bench`, and `python -m lenet_bench`."""

import sys


def main() -> None:
    """Import the command line and run it; Ctrl-C during the import ends quietly, too."""
    try:
        from . import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
