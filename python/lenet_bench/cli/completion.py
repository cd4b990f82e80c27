"""`completion`: a shell's script that completes commands, options and backends."""

import click
from click.shell_completion import get_completion_class

from .options import command
from .output import PROGRAM, SUCCESS, say


@command("Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes a shell complete commands, options and backends.

    $ lenet-bench completion bash >> ~/.bashrc
    $ lenet-bench completion zsh >> ~/.zshrc
    $ lenet-bench completion fish > ~/.config/fish/completions/lenet-bench.fish
    """
    root = click.get_current_context().find_root().command
    complete = get_completion_class(shell)
    assert complete is not None
    say([complete(root, {}, PROGRAM, "_LENET_BENCH_COMPLETE").source()])
    return SUCCESS
