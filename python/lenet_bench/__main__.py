"""`python -m lenet_bench` is `lenet-bench`."""

from .cli import main

if __name__ == "__main__":
    main()
