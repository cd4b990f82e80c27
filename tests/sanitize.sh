#!/usr/bin/env bash
# The native backends under AddressSanitizer + UBSan and under ThreadSanitizer:
#
#   tests/sanitize.sh [PYTHON]     PYTHON's environment has pytest, hypothesis and the native extras
#
# The package is built once for each, with the sanitizer, into build/sanitize/; then the tests in
# tests/sanitized/ run on that build, in an interpreter that preloads the sanitizer's run time.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
compiler=${CXX:-g++}

# Build with sanitizers $1 and run the tests with $2 preloaded.
run_under() {
  local sanitizers=$1 runtime=$2 preload
  local package=build/sanitize/${sanitizers%%,*}
  preload="$("$compiler" -print-file-name="$runtime") $("$compiler" -print-file-name=libstdc++.so.6)"
  echo "== $sanitizers"
  "$python" -m pip install --quiet --no-deps --upgrade --target "$package" \
    --config-settings=cmake.define.LENET_SANITIZE="$sanitizers" \
    --config-settings=build-dir="$package-objects" .
  # ThreadSanitizer wants its addresses unrandomised; the interpreter itself leaks by design.
  PYTHONPATH=$package LD_PRELOAD=$preload PYTHONDONTWRITEBYTECODE=1 LENET_SANITIZED=$sanitizers \
    ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    TSAN_OPTIONS=halt_on_error=1:suppressions=tests/sanitized/tsan.supp \
    setarch "$(uname -m)" --addr-no-randomize \
    "$python" -m pytest -q --capture=sys -p no:cacheprovider -p no:benchmark tests/sanitized
}

run_under address,undefined libasan.so
run_under thread libtsan.so
