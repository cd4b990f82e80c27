#!/usr/bin/env bash
# The GPU backends on a GPU, in one call of nine minutes at most, what is worth most first:
#
#   bench/gpu.sh [OPTION...]
#
#   infer       one picture with each backend: right, or why not
#   ours        our own backends and cuDNN's timed, beside their floors
#   frameworks  the frameworks timed, beside cuDNN
#   why         six backends taken apart
#   verify      each of these on MNIST's 10,000 test images, where they are at hand
#   tests       tests/test_gpu.py
#   sanitizer   compute-sanitizer on the backends without Python
#   batches     calls with 16, 128 and 1,024 images
#   vgg16       VGG-16 in LeNet's place on cuDNN, PyTorch and JAX; resnet50 likewise
#   paced       a call every 20 ms
#   rest        the frameworks' other variants timed
#
#   --wheels FOLDER   for a machine without network: install these wheels, lenet-bench's among
#                     them, beside what PYTHON has, which stays as it is (`make gpu-kit` fills
#                     FOLDER); without this option PYTHON has lenet-bench for CUDA already
#   --python PYTHON   the Python to use (python3)
#   --steps A,B+C     only these, in this order; those joined by + run side by side
#   --backends 'A B'  only these backends
#   --quick           one round of each
#   --seconds N       all of it ends after N seconds (540), whatever a step does
#   --output FOLDER   where the files go (results/gpu-DATE): log.txt, machine.txt, and one a step,
#                     such as ours.jsonl
#
# Each step has a bound of its own, a longer one where there is time for it. What it wrote until
# then is kept; Ctrl-C keeps it, too.
# Ends with 0 where all that began was right.
set -uo pipefail

# The seconds of each step, or more where those to come leave some. In each call that docs/gpu.md
# names they add up to 500 s at most: the rest of 540 s is for the start.
declare -A bounds=([infer]=60 [ours]=110 [frameworks]=210 [why]=120 [verify]=200 [tests]=120
  [sanitizer]=200 [batches]=120 [vgg16]=110 [resnet50]=90 [paced]=60 [rest]=150)
all=infer,ours,frameworks,why,verify+tests+sanitizer,batches,vgg16,paced,resnet50,rest
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
for name in ${steps//[,+]/ }; do [[ -n ${bounds[$name]:-} ]] || usage; done
mkdir -p "$output" && cd "$root" || exit 2
exec > >(trap '' INT TERM HUP && exec tee -a "$output/log.txt") 2>&1

unset "${!PIP_@}" # an image's own constraints, say
export PIP_CONFIG_FILE=/dev/null PYTHONUNBUFFERED=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lenet-bench site=$cache/gpu-site
export TORCHINDUCTOR_CACHE_DIR=$cache/inductor # else each step compiles anew
[ -z "$wheels" ] || export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
if [ -n "$(ls "${wheels:-/nowhere}"/t10k-* 2> /dev/null)" ]; then
  export LENET_BENCH_MNIST=${LENET_BENCH_MNIST:-$wheels}
fi

failed=() cut=() late=() interrupted='' until=0 watcher=''
trap 'interrupted=yes; kill $(jobs -p) 2> /dev/null' INT TERM HUP

step() { # SECONDS NAME COMMAND...: so long at most, or its share of the time where that is more
  local limit=$1 name=$2 left=$((seconds - SECONDS - grace)) share status
  share=$((left * limit / to_come))
  to_come=$((to_come - limit))
  limit=$((share > limit ? share : limit))
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

bound() { # NAME+...: that of the longest, since they run side by side
  local part longest=0
  for part in ${1//+/ }; do
    longest=$((bounds[$part] > longest ? bounds[$part] : longest))
  done
  echo "$longest"
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
    limited lscpu
    limited "$python" -m pip list --format=freeze
  } >> "$output/machine.txt" 2>&1
  limited nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
}

watch_gpu() { # all the while
  local asked=timestamp,clocks.sm,clocks.mem,pstate,power.draw,clocks_event_reasons.active
  timeout --kill-after=1 "$seconds" nvidia-smi --query-gpu="$asked" --format=csv -l 2 \
    >> "$output/machine.txt" 2>&1 &
  watcher=$!
}

checksum() { cat "$wheels"/*.whl | sha256sum; }

install() {
  local into=(-m pip install --quiet --no-index --no-deps --no-compile --upgrade --target "$site")
  local wheel
  rm -rf "$site"
  if "$python" -c 'import pip' 2> /dev/null; then
    limited "$python" "${into[@]}" "$wheels"/*.whl || return
  else # the wheels of the kit have no more than packages
    for wheel in "$wheels"/*.whl; do
      limited "$python" -m zipfile -e "$wheel" "$site" || return
    done
  fi
  checksum > "$site/checksum"
}

doctor() { limited "$python" -m lenet_bench doctor cudnn cuda; }

tests() {
  limited "$python" -m pytest -v -rs tests/test_gpu.py -W default -p no:cacheprovider
}

# shellcheck disable=SC2086
of_backends() { limited "$python" bench/gpu.py $quick "$1" "$output" "$limit" $backends; }

do_one() { # NAME
  if [ "$1" = tests ]; then
    tests
  elif [ "$1" = verify ] && [ -z "${LENET_BENCH_MNIST:-}" ]; then
    echo '== verify: left out, since LENET_BENCH_MNIST names no folder with the test images'
  else
    of_backends "$1"
  fi
}

side_by_side() { # NAME...
  local name job jobs=() status worst=0
  for name; do
    (
      trap 'kill $(jobs -p) 2> /dev/null' TERM
      do_one "$name"
    ) &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    while wait "$job"; status=$?; kill -0 "$job" 2> /dev/null; do :; done
    [ "$status" -eq 0 ] || { worst=$status && echo "== $1: ended with $status"; }
    shift
  done
  return $worst
}

finish() {
  kill "$watcher" 2> /dev/null
  find "$output" -size +15M -exec gzip {} + # a file of 16 MiB may be all that comes back
  echo "== after $SECONDS s; results are in $output"
  [ ${#cut[@]} -eq 0 ] || echo "== cut short: ${cut[*]}"
  [ ${#late[@]} -eq 0 ] || echo "== no time was left for: ${late[*]}"
  [ ${#failed[@]} -eq 0 ] || echo "== failed: ${failed[*]}"
  [ -z "$interrupted" ] || exit 130
  [ ${#failed[@]} -eq 0 ] || exit 1
  exit
}

names=$(tr ',' ' ' <<< "${steps:-$all}") to_come=$((30 + 60 + 40))
for name in $names; do
  to_come=$((to_come + $(bound "$name")))
done
step 30 machine machine
watch_gpu
if [ -z "$wheels" ] || checksum | cmp --quiet - "$site/checksum"; then
  to_come=$((to_come - 60))
else
  step 60 install install || finish
fi
step 40 doctor doctor
for name in $names; do
  # shellcheck disable=SC2086
  step "$(bound "$name")" "$name" side_by_side ${name//+/ }
done
finish
