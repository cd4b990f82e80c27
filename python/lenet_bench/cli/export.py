"""`export`, `schema` and `completion`: files that other programs read."""

from pathlib import Path

import click
from click.shell_completion import BashComplete, get_completion_class

from .options import command, option, weights_option
from .output import PROGRAM, SUCCESS, note, say


@command("Write the network as a model file (ONNX, TFLite, Caffe).")
@click.argument("kind", metavar="FORMAT", type=click.Choice(["onnx", "tflite", "caffe"]))
@option("-o, --output FILE", "The file to write.", required=True)
@weights_option
def export(kind: str, output: Path, weights: Path | None) -> int:
    """Write the network with its weights as another program's model file.

    FORMAT is onnx, tflite or caffe.

    $ lenet-bench export onnx -o lenet.onnx
    $ lenet-bench export caffe -o lenet.caffemodel   and lenet.prototxt beside it
    """
    from ..export import export as write
    from ..weights import read_weights

    for path in write(kind, read_weights(weights), output):
        note(f"wrote {path}")
    return SUCCESS


@command("Print the JSON schema of result files.")
def schema() -> int:
    """Print the JSON schema (2020-12) of a line of the files that `compare` writes.

    $ lenet-bench schema > result.schema.json
    """
    from ..results.schema import make_schema

    say(make_schema().splitlines())
    return SUCCESS


class _Bash(BashComplete):
    """Reads the words from the line: bash begins a new one at the colon of keras:p."""

    source_template = r"""
%(complete_func)s() {
    local line="${COMP_LINE:0:$COMP_POINT}" word kept="" response completion
    word="${line##* }"
    [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && kept="${word%%:*}:"
    local -a words=($line.)
    local IFS=$'\n'
    local -x COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1))
    response=$(%(complete_var)s=bash_complete $1)
    for completion in $response; do
        case "${completion%%%%,*}" in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) completion="${completion#*,}"; COMPREPLY+=("${completion#"$kept"}") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


@command("Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes a shell complete commands, options and backends.

    $ lenet-bench completion bash >> ~/.bashrc
    $ lenet-bench completion zsh >> ~/.zshrc
    $ lenet-bench completion fish > ~/.config/fish/completions/lenet-bench.fish
    """
    root = click.get_current_context().find_root().command
    complete = _Bash if shell == "bash" else get_completion_class(shell)
    assert complete is not None
    say([complete(root, {}, PROGRAM, "_LENET_BENCH_COMPLETE").source()])
    return SUCCESS
