#!/usr/bin/env bash
# Everything about the GPU rungs that takes a GPU: builds, tests, compute-sanitizer, benchmark.
#
#   bench/gpu.sh [--cuda 13|12] [--wheels FOLDER] [--output FOLDER] [--quick] [--no-sanitizer]
#
# --wheels names a folder of wheels for a machine without network; on one that has it, fill it with
#   pip download -d FOLDER '.[cuda13,dev-cuda13,cupy]' nvidia-cuda-sanitizer-api \
#     scikit-build-core pybind11 cmake ninja scipy-openblas32
# LENET_BENCH_MNIST names the folder of MNIST's files; without it parity is checked on made images.
# Results go to results/gpu-DATE: machine.txt, tests.xml, sanitizer-*.txt, compare.json,
# profile.json. Ends with 0 where every step that could run was right.
set -uo pipefail
cd "$(dirname "$0")/.."

cuda=13 wheels='' quick='' sanitize=yes output=results/gpu-$(date +%Y-%m-%d-%H%M)
while [ $# -gt 0 ]; do
  case $1 in
    --cuda) cuda=$2 && shift 2 ;;
    --wheels) wheels=$(cd "$2" && pwd) && shift 2 ;;
    --output) output=$2 && shift 2 ;;
    --quick) quick=--quick && shift ;;
    --no-sanitizer) sanitize='' && shift ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
done
if [ -n "$wheels" ]; then
  export PIP_NO_INDEX=1 PIP_FIND_LINKS=$wheels
fi
mkdir -p "$output"
failed=()

step() { # NAME COMMAND...
  local name=$1
  shift
  echo "== $name"
  "$@" || { failed+=("$name") && echo "== $name FAILED"; }
}

machine() {
  { date --iso-8601=seconds && uname -a && nvidia-smi && nvidia-smi -q -d CLOCK,POWER,PERFORMANCE &&
    "$python" -m pip freeze; } > "$output/machine-$1.txt" 2>&1
}

environment=.venv-gpu-cuda$cuda
python=$PWD/$environment/bin/python

build() {
  [ -x "$python" ] || python3 -m venv "$environment" || return
  "$python" -m pip install --quiet ".[cuda$cuda,dev-cuda$cuda]" -C "lenet.cuda=$cuda" || return
  "$python" -m pip install --quiet ".[cupy]" -C "lenet.cuda=$cuda" ||
    echo 'cupy is not to be had: it is left out'
}

parity() { "$python" -m pytest -q tests/test_gpu.py --junitxml="$output/tests.xml"; }

# The rungs without Python: compute-sanitizer would otherwise report what Python does.
build_driver() {
  "$python" - "$output/driver" "$cuda" <<'END'
import sys
from pathlib import Path
sys.path.insert(0, "tests")
from cuda_setting import compile_options, compiler, link_with_nvidia, run, write_kernel_source
output, major = Path(sys.argv[1]), int(sys.argv[2])
sources = ["tests/cuda_double/driver.cpp", *map(str, sorted(Path("csrc/cuda").glob("*.cpp"))),
           str(write_kernel_source(output.with_suffix(".kernels.cpp")))]
run([compiler(), *compile_options(major), *sources, "-o", str(output), *link_with_nvidia(major)])
END
}

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer \
  "$environment"/lib/python3*/site-packages/nvidia/*/bin/compute-sanitizer 2>/dev/null | head -1)

under_sanitizer() { # TOOL RUNG
  timeout 300 "$sanitizer" --tool "$1" --error-exitcode 9 "$output/driver" "$2" \
    > "$output/sanitizer-$1-${2/:/-}.txt" 2>&1
}

step build build || exit 1
[ ${#failed[@]} -eq 0 ] || exit 1
machine before
step 'GPU tests' parity
if [ -n "$sanitize" ] && [ -z "$sanitizer" ]; then
  echo '== no compute-sanitizer here (pip install nvidia-cuda-sanitizer-api): left out'
elif [ -n "$sanitize" ]; then
  step 'driver' build_driver
  for rung in cudnn cudnn:graph cudnn:frontend cuda cuda:graph cuda:mapped cuda:persistent; do
    step "memcheck $rung" under_sanitizer memcheck "$rung"
  done
  for tool in racecheck initcheck synccheck; do
    step "$tool cuda" under_sanitizer $tool cuda
    step "$tool cuda:persistent" under_sanitizer $tool cuda:persistent
  done
fi
step benchmark "$python" bench/gpu.py "$output" $quick
machine after
echo "== results are in $output"
if [ ${#failed[@]} -gt 0 ]; then
  printf '== failed: %s\n' "${failed[@]}"
  exit 1
fi
