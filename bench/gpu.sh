#!/usr/bin/env bash
# Everything about the GPU backends that takes a GPU, what is worth most first:
#
#   bench/gpu.sh [OPTION...]
#
#   build        lenet-bench for CUDA, into an environment of its own
#   tests        tests/test_gpu.py: every backend against the float64 reference
#   verify       every backend on MNIST's 10,000 test images, where LENET_BENCH_MNIST names them
#   frameworks   TensorFlow and Keras for a GPU, 6.5 GB, which every backend of ours has to beat
#   benchmark    all GPU backends beside their floors, and the goals of docs/gpu.md
#   why          each GPU backend taken apart, into the parts that its time goes to
#   sanitizer    compute-sanitizer: memcheck, racecheck, initcheck, synccheck
#
#   --steps A,B          only these, in an environment that an earlier run has built
#   --seconds N          begin nothing later than this, and end what is running then
#   --backends 'A B'        verify and measure only these
#   --quick              a benchmark of seconds, for a first look
#   --cuda 13|12         the major of CUDA (13)
#   --wheels FOLDER      install from here: for a machine without network. Filled on one that has it:
#                          pip download -d FOLDER '.[cuda13,dev-cuda13,cupy]' \
#                            nvidia-cuda-sanitizer-api scikit-build-core pybind11 cmake ninja
#   --python PYTHON      use what this Python has (pytest, pybind11, scikit-build-core, NVIDIA's
#                        libraries) and fetch nothing; of --wheels then only what lies there
#   --environment DIR    where it is installed (.venv-gpu-cuda13)
#   --output DIR         where results go (results/gpu-DATE): machine.txt, tests.xml, verify.json,
#                        compare.jsonl, goals.txt, why.jsonl, why.txt, sanitizer.txt; each
#                        tells its machine
#
# A step that fails or takes too long costs its own result. Ends with 0 where all that began was
# right.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//p}' "$0" && exit 2; }

steps=build,tests,verify,frameworks,benchmark,why,sanitizer
cuda=13 wheels='' host='' environment='' backends='' quick=''
output=results/gpu-$(date +%Y-%m-%d-%H%M) deadline=86400
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=$1 && shift && continue ;;
    --steps | --seconds | --backends | --cuda | --wheels | --python | --environment | --output)
      [ $# -ge 2 ] || usage ;;
    *) usage ;;
  esac
  case $1 in
    --steps) steps=$2 ;;
    --seconds) deadline=$2 ;;
    --backends) backends=$2 ;;
    --cuda) cuda=$2 ;;
    --wheels) wheels=$(cd "$2" && pwd) || exit 2 ;;
    --python) host=$(command -v "$2") || { echo "there is no $2" && exit 2; } ;;
    --environment) environment=$2 ;;
    --output) output=$2 ;;
  esac
  shift 2
done
mkdir -p "$output" || exit 2
: "${environment:=$PWD/.venv-gpu-cuda$cuda}"
if [ -n "$host" ]; then
  python=$host
  export PYTHONPATH=$environment${PYTHONPATH:+:$PYTHONPATH} # pip's --target
else
  python=$environment/bin/python
fi
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -1)
failed=() late=()

step() { # SECONDS NAME COMMAND...; the command's `limited` ends it after so many
  local name=$2 left=$((deadline - SECONDS))
  limit=$(($1 < left ? $1 : left))
  shift 2
  if [ "$limit" -lt 5 ]; then
    late+=("$name")
    return
  fi
  echo "== $name (at ${SECONDS} s)"
  "$@" || { failed+=("$name") && echo "== $name FAILED"; }
}

limited() { timeout --kill-after=10 "$limit" "$@"; }

wanted() { case ,$steps, in *,$1,*) ;; *) return 1 ;; esac; }

machine() { # WHEN
  {
    echo "== $1"
    date --iso-8601=seconds
    uname -a
    git log -1 --format='lenet-bench %H'
    nvidia-smi
    nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
    [ "$1" = before ] || limited "$python" -m pip freeze
    [ "$1" = before ] || limited "$python" -m lenet_bench doctor
  } >> "$output/machine.txt" 2>&1
  true
}

build() {
  local offline=()
  [ -z "$wheels" ] || offline=(--no-index --find-links "$wheels")
  if [ -n "$host" ]; then
    local here=(-m pip install --quiet --no-index --no-deps --upgrade --target "$environment")
    [ -z "$wheels" ] || limited "$python" "${here[@]}" "$wheels"/*.whl || return
    limited "$python" "${here[@]}" --no-build-isolation . --config-settings="lenet.cuda=$cuda"
    return
  fi
  [ -x "$python" ] || python3 -m venv "$environment" || return
  # In the environment of the build too, which reads no option of pip's.
  [ -z "$wheels" ] || export PIP_NO_INDEX=1 PIP_FIND_LINKS=$wheels
  limited "$python" -m pip install --quiet "${offline[@]}" ".[cuda$cuda,dev-cuda$cuda]" \
    --config-settings="lenet.cuda=$cuda" || return
  local beside package # what all but one backend do without
  beside=('lenet-bench[cupy]' "nvidia-cuda-sanitizer-api$([ "$cuda" = 13 ] || echo "-cu$cuda")")
  for package in "${beside[@]}"; do
    limited "$python" -m pip install --quiet "${offline[@]}" "$package" ||
      echo "== $package is not to be had: it is left out"
  done
}

tests() {
  limited "$python" -m pytest -q tests/test_gpu.py -p no:cacheprovider \
    -o "junit_suite_name=$gpu" --junitxml="$output/tests.xml"
}

verify() {
  local chosen=() backend
  for backend in $backends; do chosen+=(--backend "$backend"); done
  limited "$python" -m lenet_bench verify --device gpu --data "$LENET_BENCH_MNIST" \
    "${chosen[@]}" -o "$output/verify.json"
}

frameworks() {
  limited "$python" -c 'from lenet_bench.registry.environments import create, environments
environments()["tensorflow-gpu"].created or create("tensorflow-gpu", print)'
}

benchmark() {
  echo "on $gpu" > "$output/goals.txt"
  # shellcheck disable=SC2086
  limited "$python" bench/gpu.py "$output/compare.jsonl" $quick $backends | tee -a "$output/goals.txt"
}

why() {
  local rounds=6
  [ -z "$quick" ] || rounds=1
  echo "on $gpu" > "$output/why.txt"
  # shellcheck disable=SC2086
  limited "$python" -m lenet_bench why --device gpu --rounds $rounds --budget $((limit * 4 / 5))s -o "$output/why.jsonl" \
    $backends >> "$output/why.txt"
}

# The backends without Python: compute-sanitizer would otherwise report what Python does.
driver=$environment/driver
build_driver() { limited "$python" tests/cuda_setting.py "$driver" "$cuda"; }

under_sanitizer() { # TOOL BACKEND
  local status
  {
    echo "== $1 $2 on $gpu"
    limited "$sanitizer" --tool "$1" --error-exitcode 9 --report-api-errors no "$driver" "$2"
    status=$?
    echo "== ended with $status"
  } >> "$output/sanitizer.txt" 2>&1
  return "$status"
}

sanitize() {
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer \
    "$environment"{,/lib/python3*/site-packages}/nvidia/*/bin/compute-sanitizer 2>/dev/null |
    head -1)
  if [ -z "$sanitizer" ]; then
    echo '== no compute-sanitizer here (pip install nvidia-cuda-sanitizer-api): left out'
    return
  fi
  step 300 driver build_driver
  [ -x "$driver" ] || return
  local tool backend # our own kernels first: cuDNN's and cuBLAS's are NVIDIA's
  for tool in memcheck racecheck synccheck initcheck; do
    for backend in cuda cuda:mapped cuda:persistent; do
      step 120 "$tool $backend" under_sanitizer "$tool" "$backend"
    done
  done
  for backend in cuda:graph cudnn cudnn:graph cudnn:frontend; do
    step 240 "memcheck $backend" under_sanitizer memcheck "$backend"
  done
}

machine before
if wanted build; then
  step 600 build build
  [ ${#failed[@]} -eq 0 ] || exit 1
fi
wanted tests && step 300 tests tests
if wanted verify; then
  if [ -n "${LENET_BENCH_MNIST:-}" ]; then
    step 300 verify verify
  else
    echo '== verify is left out: LENET_BENCH_MNIST names no folder with the test images'
  fi
fi
if wanted frameworks; then
  if [ -z "$host$wheels" ]; then
    step 900 frameworks frameworks
  else
    echo '== frameworks are left out: they take the network'
  fi
fi
wanted benchmark && step 900 benchmark benchmark
wanted why && step 900 why why
wanted sanitizer && sanitize
limit=60 machine after

echo "== results are in $output"
[ ${#late[@]} -eq 0 ] || printf '== no time was left for: %s\n' "${late[@]}"
if [ ${#failed[@]} -gt 0 ]; then
  printf '== failed: %s\n' "${failed[@]}"
  exit 1
fi
