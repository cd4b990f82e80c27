"""What cannot be asked is answered in a sentence, with exit code 2, before anything runs."""

import shlex

import pytest
from lenet_bench.cli import run
from sample_results import blocks, log, write_log

INTERVAL = "expected 0.001ms to 1000s, or 1000000Hz to 0.001Hz, got "

#: What is typed, where {saved} is a result of fused, numpy and keras, and a part of what is said.
MISUSE = {
    "": "Usage: ",
    "dance": "Usage: ",
    "compar": "Did you mean 'compare'?",
    "infer": "Usage: ",
    "infer --dance 7.png": "Usage: ",
    "infer --backend abacus 7.png": "`lenet-bench backends`",
    "infer --threads 0 7.png": "Usage: ",
    "infer --threads 99999999999999999999 7.png": "Usage: ",
    "infer --backend fsued 7.png": "did you mean fused?",
    "infer --backend torch@tpu 7.png": "did you mean torch@gpu?",
    "infer --backend onnx 7.png": "did you mean onnxruntime?",
    "infer --backend tflite 7.png": "did you mean litert?",
    "infer --backend nope 7.png": "`lenet-bench backends`",
    "infer --show --json 7.png": "--json prints and --show draws",
    "verify --backend fused:float8": "Usage: ",
    "train --threads 100000": "Usage: ",
    "train --epochs 0": "Usage: ",
    "train --rate fast": "Usage: ",
    "train --rate 0": "Usage: ",
    "train --rate nan": "expected a finite number",
    "train --weight-decay inf": "expected a finite number",
    "train --momentum 1": "Usage: ",
    "train --seed -1": "Usage: ",
    "train --framework theano": "Usage: ",
    "train --framework all -o lenet.safetensors": "Usage: ",
    "completion tcsh": "Usage: ",
    "compare numpy numpy": "Usage: ",
    "compare --threads 100000": "Usage: ",
    "compare --budget 3x": "Usage: ",
    "compare --budget 501h": "Usage: ",
    "compare --rounds 0": "Usage: ",
    "compare --baseline nosuch": "Usage: ",
    "compare --json --csv": "Usage: ",
    "compare --code keras": "--code is for a --model",
    "compare --model {saved} --code keras --callers 1,2": "nothing is measured: leave out --c",
    "compare --model {saved} --code keras --json": "nothing is measured: leave out --json",
    "compare --model {saved} --network lenet": "a run has one network: give --network or --model",
    "why --model {saved} --network mlp": "a run has one network: give --network or --model",
    "compare torch m/my.onnx": "--model m/my.onnx",
    "compare My.ONNX": "--model My.ONNX",
    "compare {saved}": "is a file and no backend; `compare --model` takes a model's file",
    "why my.tflite": "--model my.tflite",
    "cost 'a b.onnx'": "--model 'a b.onnx'",
    "why --model my.onnx onnxruntime": "not for my.onnx; to time it on each engine: ",
    "compare numpy --batch 0": "sizes from 1",
    "compare numpy --batch 1,,2": "sizes from 1",
    "compare numpy --batch 100000": "sizes from 1",
    "compare numpy --callers 1,2 --interval 20": "leave out --interval, --cold and --beside",
    "compare numpy --callers 1,2 --cold": "leave out --interval, --cold and --beside",
    "compare numpy --callers 1,2 --beside 1": "leave out --interval, --cold and --beside",
    "compare numpy --callers 0": "numbers from 1",
    "compare numpy --callers 1,,2": "numbers from 1",
    "compare numpy --callers 10000": "numbers from 1",
    "compare numpy --callers 1,2 --quota 1": "leave out --callers and --batch",
    "compare numpy --batch 8 --quota 1": "leave out --callers and --batch",
    "compare numpy --quota 0": "Usage: ",
    "compare numpy --quota -1": "Usage: ",
    "compare numpy --quota two": "Usage: ",
    "compare numpy --quota 999": "Usage: ",
    "compare numpy --quota nan": "expected a finite number",
    "compare numpy --threads none": "a number above 0 or `default`",
    "compare numpy --threads 0": "a number above 0 or `default`",
    "compare numpy --threads 1,x": "'x'",
    "compare numpy --threads 1,1": "1 is named twice",
    "compare numpy --threads 1,": "''",
    "compare numpy --threads 1,99999": "99999",
    "compare 'numpy (2 threads)'": "name numpy, and give the number of its threads with --threads",
    "compare numpy --cores 99999": "the cores of this machine",
    "compare numpy --beside 99999": "the cores of this machine",
    "compare numpy --beside -1": "-1 is not in the range",
    "compare numpy --beside busy": "'busy' is not a valid whole number",
    "compare numpy --keep-warm 1": "--keep-warm is for calls with an --interval",
    "compare numpy --keep-warm 20 --interval 50Hz": "--keep-warm must be shorter than the --i",
    "compare numpy --interval 0Hz": INTERVAL,
    "compare numpy --interval 0.0009Hz": INTERVAL,
    "compare numpy --interval 1000001Hz": INTERVAL,
    "compare numpy --interval 0.0000001": INTERVAL,
    "compare numpy --interval 10h": INTERVAL,
    "compare numpy --interval 50Khz": "expected a time such as 60s",
    "compare numpy --deadline 1": "--deadline is for calls with an --interval",
    "compare numpy --callers-in processes": "--callers-in is for --callers",
    "compare numpy --callers-in threads": "--callers-in is for --callers",
    "compare numpy --until decided": "compares, so it needs two backends or more",
    "compare numpy --network mlp --batch 8": "--batch is for LeNet and a model",
    "compare numpy --network mlp --weights a.safetensors": "--weights is for LeNet only",
    "compare onnxruntime --floor": "--floor needs a version first",
    "compare onnxruntime==1.26.0 torch --fail-over 5%": "is for versions",
    "cost onnxruntime==1.26.0": "a version of an API is for compare and why",
    "verify --network mlp -b numpy --device cpu": "are for LeNet only",
    "env create cntk": "'[NAME | NAME==VERSION]...': 'cntk' is not one of 'caffe', ",
    "env remove cntk": "'[NAME | NAME==VERSION]...': 'cntk' is not one of 'caffe', ",
    "env remove --converted caffe": "names of environments, or --converted",
    "env create": "Usage: ",
    "export cntk -o x": "Usage: ",
    "diff {saved} {saved} --fail-if-noisy": "--fail-if-noisy is for --fail-over SHARE: give both",
    "diff {saved} {saved} --fail-over 0": "Usage: ",
    "diff {saved} {saved} --baseline abacus": "Usage: ",
    "report {saved} --open": "Usage: ",
    "report {saved} -o x.html --csv": "Usage: ",
    "machines {saved} --json -o x.html": "one of them",
    "machines {saved} --open": "give both",
    "classroom {saved} --serve -o page.html": "Usage: ",
    "classroom {saved} --port 8080": "Usage: ",
    "classroom {saved} --backend numpy": "Usage: ",
    "classroom {saved} --browser-engines": "Usage: ",
    "classroom {saved} --serve --backend nonesuch": "Usage: ",
    "classroom {saved} --serve --backend numpy --backend numpy": "Usage: ",
    "classroom {saved} --serve --port 99999": "Usage: ",
    "classroom {saved} --site --serve": "Usage: ",
    "classroom {saved} --site --open": "Usage: ",
    "classroom {saved} --serve --address https://a.example": "Usage: ",
    "classroom {saved} --address lesson": "Usage: ",
    "classroom {saved} --address ftp://a.example": "Usage: ",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "mine.jsonl"
    write_log(path, log(blocks("fused", 20), blocks("numpy", 90)))
    return str(path)


@pytest.mark.parametrize("words", MISUSE)
def test_misuse_is_answered_with_what_was_meant(words, saved, capsys):
    assert run(shlex.split(words.format(saved=saved))) == 2
    answered, said = capsys.readouterr()
    assert answered == ""
    assert MISUSE[words] in " ".join(said.split())
