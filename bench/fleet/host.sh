# What a host does. fleet.py sends this to its `bash -s`, behind lines that set the variables and
# before the wheels' bytes. Back come lines of the name of the run and a result in base64; all that is
# said goes to standard error. Standard input stays open, and where it ends early the caller is gone.
main() {
  set -m # each child is a process group, which ends as a whole
  umask 077
  exec 3<&0 0< /dev/null 4>&1 1>&2
  folder=$(mktemp -d "${TMPDIR:-/tmp}/lenet-bench.XXXXXXXX") || exit
  trap leave EXIT
  trap 'exit 143' HUP INT TERM
  local n runs=()
  export TMPDIR=$folder # so that pip leaves nothing elsewhere
  for n in "${!wheels[@]}"; do
    head -c "${sizes[n]}" <&3 > "$folder/${wheels[n]}" || { echo "it cannot write in $folder" && exit 1; }
  done
  { cat > /dev/null; kill -TERM $$; } <&3 &

  cd "$folder" || exit
  # shellcheck disable=SC2086 # pip's options are several words
  step "$python -m venv" "$python" -m venv env
  step "pip install" env/bin/python -m pip install --quiet --disable-pip-version-check \
    --find-links . $pip "$requirement"
  for ((n = 0; n < at_once; n++)); do
    measure "$n" > /dev/null &
    runs+=($!)
  done
  wait "${runs[@]}" # a backend that failed is in the result
  for ((n = 0; n < at_once; n++)); do
    step "lenet-bench compare" test -s "$run-$n.jsonl"
    step "lenet-bench share" env/bin/lenet-bench share --yes -o "given-$n" "$run-$n.jsonl" > /dev/null
    env/bin/python -c 'import base64, sys
print("\n" + sys.argv[1], base64.b64encode(open(sys.argv[2], "rb").read()).decode())' \
      "$run-$n" "given-$n/"*.jsonl.gz >&4
  done
  exit 0
}

step() { # NAME COMMAND...
  local name=$1
  shift
  "$@" &
  wait $! || { echo "$name failed" && exit 1; }
}

measure() { # NUMBER: where there are several at once, each has its own cores and its own GPU
  exec env/bin/python -c 'import os, sys
number, runs, device, *command = sys.argv[1:]
number, runs = int(number), int(runs)
if runs > 1:
    cores = sorted(os.sched_getaffinity(0))
    each = len(cores) // runs
    if not each:
        sys.exit(f"{runs} runs at once need as many cores, and there are {len(cores)}")
    os.sched_setaffinity(0, cores[number * each:(number + 1) * each])
    os.environ["LENET_BENCH_AT_ONCE"] = str(runs)
    if device == "gpu":
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[number] if len(gpus) >= runs else str(number)
os.execv(command[0], command)' \
    "$1" "$at_once" "$device" env/bin/lenet-bench compare "${compare[@]}" -o "$run-$1.jsonl"
}

leave() {
  local group
  exec 2> /dev/null # where bash says whom it killed
  for group in $(jobs -p); do kill -KILL -- "-$group"; done
  rm -rf "$folder"
}

main
