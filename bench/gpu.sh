#!/usr/bin/env bash
# The GPU backends on a GPU, in one call of nine minutes at most, what is worth most first:
#
#   bench/gpu.sh [OPTION...]
#
#   infer       one picture with each backend: right, or why not
#   ours        our own backends and cuDNN's timed, beside their floors
#   frameworks  the frameworks timed, beside cudnn
#   tests       tests/test_gpu.py
#   verify      every backend on MNIST's 10,000 test images, where they are at hand
#   why         six backends taken apart
#   rest        the frameworks' other variants timed
#   sanitizer   compute-sanitizer on the backends without Python
#
#   --wheels FOLDER   for a machine without network: install these wheels and lenet-bench beside
#                     what PYTHON has, which stays as it is (`make gpu-kit` fills FOLDER); without
#                     this option PYTHON has lenet-bench for CUDA already
#   --python PYTHON   the Python to use (python3)
#   --steps A,B       only these
#   --backends 'A B'  only these backends
#   --quick           one round of each
#   --seconds N       all of it ends after N seconds (540), whatever a step does; with more, each
#                     step has more
#   --output FOLDER   where eight files go (results/gpu-DATE): log.txt, machine.txt, ours.jsonl,
#                     frameworks.jsonl, rest.jsonl, verify.json, why.jsonl, sanitizer.txt
#
# Each step has a bound of its own. What it wrote until then is kept; Ctrl-C keeps it, too.
# Ends with 0 where all that began was right.
set -uo pipefail

# The seconds of each step, of 540; with more, each has more. Their sum is too much: most take less.
bounds='infer:150 ours:140 frameworks:200 tests:180 verify:100 why:240 rest:200 sanitizer:250'
grace=10 # from the signal at which a step saves what it has to the one that kills it

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//p}' "$0" && exit 2; }

python=python3 wheels='' steps='' backends='' quick='' seconds=540
root=$(cd "$(dirname "$0")/.." && pwd) || exit
output=$root/results/gpu-$(date +%Y-%m-%d-%H%M)
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=$1 && shift && continue ;;
    --wheels | --python | --steps | --backends | --seconds | --output) [ $# -ge 2 ] || usage ;;
    *) usage ;;
  esac
  case $1 in
    --wheels) wheels=$(cd "$2" && pwd) || exit 2 ;;
    --python)
      python=$(command -v "$2") || { echo "there is no $2" && exit 2; }
      python=$(realpath -s "$python") # not through a link, which an environment's is
      ;;
    --steps) steps=$2 ;;
    --backends) backends=$2 ;;
    --seconds) seconds=$2 ;;
    --output) output=$(realpath -m "$2") ;;
  esac
  shift 2
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage
for name in ${steps//,/ }; do [[ " $bounds" = *" $name:"* ]] || usage; done
mkdir -p "$output" && cd "$root" || exit 2
exec > >(trap '' INT TERM HUP && exec tee -a "$output/log.txt") 2>&1

unset "${!PIP_@}" # an image's own constraints, say
export PIP_CONFIG_FILE=/dev/null PYTHONUNBUFFERED=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
[ -z "$wheels" ] || export PYTHONPATH=$PWD/build/gpu-site${PYTHONPATH:+:$PYTHONPATH}
if [ -n "$(ls "${wheels:-/nowhere}"/t10k-* 2> /dev/null)" ]; then
  export LENET_BENCH_MNIST=${LENET_BENCH_MNIST:-$wheels}
fi

failed=() cut=() late=() interrupted='' until=0
trap 'interrupted=yes; kill $(jobs -p) 2> /dev/null' INT TERM HUP

step() { # SECONDS NAME COMMAND...: at most so long, and at most what is left of it all
  local name=$2 left=$((seconds - SECONDS - grace)) status
  local limit=$((seconds > 540 ? $1 * seconds / 540 : $1))
  limit=$((limit < left ? limit : left))
  shift 2
  if [ -n "$interrupted" ] || [ "$limit" -lt 1 ]; then
    late+=("$name")
    return 1
  fi
  echo "== $name: at $SECONDS s, for $limit s at most"
  until=$((SECONDS + limit))
  "$@"
  status=$?
  case $status in
    0) return ;;
    124 | 137) cut+=("$name") && echo "== $name: cut short" ;;
    *) [ -n "$interrupted" ] || { failed+=("$name") && echo "== $name: FAILED"; } ;;
  esac
  return $status
}

limited() { # COMMAND...: until the step's bound; in the background, since a trap waits otherwise
  local left=$((until - SECONDS)) job status
  [ "$left" -gt 0 ] || return 124
  timeout --kill-after="$grace" "$left" "$@" &
  job=$!
  while wait "$job"; status=$?; kill -0 "$job" 2> /dev/null; do :; done
  return $status
}

machine() {
  {
    date --iso-8601=seconds
    uname -srm
    cat "$wheels/commit" 2> /dev/null || git log -1 --format=%H
    limited nvidia-smi
    limited nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
    limited "$python" -m pip list --format=freeze
  } >> "$output/machine.txt" 2>&1
  limited nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
}

build() {
  local into=(-m pip install --quiet --no-index --no-deps --no-compile --upgrade --target build/gpu-site)
  limited "$python" "${into[@]}" "$wheels"/*.whl &&
    limited "$python" "${into[@]}" --no-build-isolation . --config-settings=lenet.cuda=13 &&
    touch build/gpu-site/complete
}

doctor() { limited "$python" -m lenet_bench doctor cudnn cuda >> "$output/machine.txt" 2>&1; }

tests() {
  limited "$python" -m pytest -v -rs tests/test_gpu.py -W default -p no:cacheprovider
}

# shellcheck disable=SC2086
of_backends() { limited "$python" bench/gpu.py $quick "$1" "$output" "$limit" $backends; }

finish() {
  find "$output" -size +15M -exec gzip {} + # a file of 16 MiB may be all that comes back
  echo "== after $SECONDS s; results are in $output"
  [ ${#cut[@]} -eq 0 ] || echo "== cut short: ${cut[*]}"
  [ ${#late[@]} -eq 0 ] || echo "== no time was left for: ${late[*]}"
  [ ${#failed[@]} -eq 0 ] || echo "== failed: ${failed[*]}"
  [ -z "$interrupted" ] || exit 130
  [ ${#failed[@]} -eq 0 ] || exit 1
  exit
}

step 30 machine machine
if [ -n "$wheels" ] && [ -n "$(find csrc python CMakeLists.txt pyproject.toml "$wheels" \
  -newer build/gpu-site/complete -print -quit 2>&1)" ]; then
  step 540 build build || finish
fi
step 40 doctor doctor
for one in $bounds; do
  name=${one%:*}
  [[ -z $steps || ,$steps, = *,$name,* ]] || continue
  case $name in
    tests) step "${one#*:}" "$name" tests ;;
    verify)
      if [ -n "${LENET_BENCH_MNIST:-}" ]; then
        step "${one#*:}" "$name" of_backends "$name"
      else
        echo '== verify: left out, since LENET_BENCH_MNIST names no folder with the test images'
      fi
      ;;
    *) step "${one#*:}" "$name" of_backends "$name" ;;
  esac
done
finish
