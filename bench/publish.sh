#!/usr/bin/env bash
# Measure what results/ publishes of a CPU, one file after the other, into FOLDER:
#
#   bench/publish.sh FOLDER [STEP...]
#
#   why          25 calls taken apart (35 minutes on two cores of an AMD EPYC, Zen 5)
#   installed    a few APIs as installed, and with each remedy (20)
#   conditions   back to back, two threads, a call every 20 ms, cold caches, in turns (35)
#   networks     every network, with the machine's limit (80)
#   control      LeNet by each builder beside LeNet by hand (25)
#   cpu          every backend, with throughput by batch (70)
#   settings     what is tried for each backend (40)
#   verify       every backend on MNIST's test images (10)
#   training     an epoch in six frameworks (5)
#   self-test    how well `compare` does, and how soon by --until decided (50)
#   production   several callers, a quota, and what idle threads can be told (70)
#   models       each model.py in results/models, with transformers installed (25)
#   opened       one call of Keras' predict and one of oneDNN as spans in time, with VizTracer installed (1)
#
# It needs `make all-frameworks`, clang, and a machine with nothing else running: it tries that first, and ends
# where the machine is quiet for less than 70 % of the time, or where variables are set that change times. The same
# command goes on after Ctrl-C, and leaves out what FOLDER has. results/README.md says where each file goes.
set -euo pipefail
steps='why installed conditions networks control cpu settings verify training self-test models production opened'
[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//p}' "$0" && exit 2; }
mkdir -p "$1" && out=$(realpath "$1") && shift
cd "$(dirname "$0")/.."
for step in "$@"; do
  [[ " $steps " = *" $step "* ]] || { echo "$step is none of the steps: $steps" && exit 2; }
done
PATH=$PWD/.venv/bin:$PATH
readme=$(grep -o -m 1 'results/cpu/[^ ]*gz' README.md) # whose fastest variants the conditions measure

calls='jax keras keras-jax keras-jax:predict_on_batch keras-torch keras-torch:predict_on_batch keras:call
  keras:function keras:predict_on_batch litert mnn numpy onednn onnxruntime openblas openvino tensorflow
  tensorflow:concrete tensorflow:function tensorflow:session tensorflow:xla torch torch:compile torch:export
  torch:torchscript'
sized='onednn numpy mnn mnn:direct litert executorch ncnn ncnn:direct openvino:tensors onnxruntime opencv jax torch
  torch:export torch:autotuned tensorflow tensorflow:function tensorflow:session keras-jax:jit
  keras-jax:predict_on_batch keras keras:predict_on_batch keras:function'
built='onednn numpy mnn litert ncnn openvino:tensors onnxruntime opencv jax torch torch:export tensorflow
  tensorflow:function keras keras:predict_on_batch keras:function keras-jax:predict_on_batch'
services='fused onednn numpy litert mnn onnxruntime openvino openvino:tensors jax torch torch:torchscript
  tensorflow:function tensorflow:session keras:predict_on_batch'
keras='keras keras:predict_on_batch keras:call keras:function keras-jax:predict_on_batch litert onnxruntime
  openvino:tensors opencv tract mnn'
torch='torch torch:compile torch:export torch:autotuned torch:torchscript onnxruntime openvino:tensors opencv tract
  mnn iree'

quiet() {
  lenet-bench compare fused onednn numpy --rounds 3 --json 2>/dev/null | python -c '
import json, sys
result = json.load(sys.stdin)
share, changed = result["quiet_share"], [one for one in result["warnings"] if "environment sets" in one]
if share < 0.7:
    sys.exit(f"the machine was quiet for only {share:.0%} of the time; nothing is measured")
if changed:
    sys.exit(f"{changed[0]}; nothing is measured")'
}

# With 1 a command says that something was wrong; its result has it. Anything else, as of Ctrl-C, ends all.
ran() { "$@" || [ $? = 1 ]; }
# The raw run and its form for git; a run that was interrupted goes on.
kept() {
  local file=$out/$1.jsonl
  shift
  [ -e "$file.gz" ] || { ran "$@" -o "$file" && lenet-bench share --keep "$file"; }
}
# What a command prints.
printed() {
  local file=$out/$1.json
  shift
  [ -e "$file" ] || { ran "$@" >"$file.part" && mv "$file.part" "$file"; }
}

under() {
  ran python bench/conditions.py "$readme" --only "$@" --rounds 6 --folder "$out"
  for one in "$@"; do [ -e "$out/$one.jsonl.gz" ] || lenet-bench share --keep "$out/$one.jsonl"; done
}

measure() {
  case $1 in
    why) kept why lenet-bench why $calls --rounds 12 ;;
    installed) under as-installed one-thread one-core kept-warm ;;
    conditions) under back-to-back two-threads idle cold ;;
    networks)
      for network in $(python -c 'from lenet_bench.networks import NETWORKS; print(*NETWORKS)'); do
        kept "$network" lenet-bench compare --network "$network" $sized --rounds 6
      done
      printed limit python bench/limit.py
      ;;
    control) kept control python -m bench.settings --built $built --rounds 12 ;;
    cpu) kept cpu lenet-bench compare --device cpu --rounds 15 --batch 1,8,64,512 ;;
    settings)
      for one in $(python -m bench.settings --names); do
        kept "settings-$one" python -m bench.settings "$one" --rounds 8
      done
      ;;
    verify) [ -e "$out/verify.json" ] || ran lenet-bench verify -o "$out/verify.json" ;;
    training) printed training lenet-bench train --framework all --epochs 1 -o "$out/weights" --json ;;
    models)
      for file in results/models/*.py; do
        rows=$keras
        ! grep -q '^import torch' "$file" || rows=$torch
        kept "$(basename "$file" .py)" lenet-bench compare --model "$file" $rows --rounds 6
      done
      ;;
    production)
      kept callers lenet-bench compare $services --callers 1,2,4 --rounds 8
      kept processes lenet-bench compare $services --callers 1,2,4 --callers-in processes --rounds 8
      kept openvino python -m bench.settings openvino --processes 1 2 4 --rounds 8
      kept quota-none lenet-bench compare $services --threads default --rounds 8
      for quota in 0.5 1.5; do
        kept "quota-$quota" lenet-bench compare $services --threads default --quota "$quota" --rounds 8
      done
      for ms in 5 10 20 50; do
        kept "every-$ms" python -m bench.settings --every "$ms" onnxruntime openvino torch numpy tensorflow --rounds 6
      done
      ;;
    self-test)
      ran python bench/self_test.py "$out/self-test"
      for file in "$out"/self-test/*.jsonl; do [ -e "$file.gz" ] || lenet-bench share --keep "$file"; done
      ran python bench/self_test.py "$out/decided" --until-decided
      ;;
    opened) [ -e "$out/opened.json" ] || python bench/opened.py "$out/opened.json" ;;
  esac
}

quiet
for step in ${*:-$steps}; do
  echo "$(date +%H:%M) $step" >&2
  measure "$step"
done
