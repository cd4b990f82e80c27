#!/usr/bin/env bash
# The backend `fused` built for 64-bit Arm and run on an emulated one: every layer against float64.
# Exits 77, saying why, where there is no cross compiler or no emulator
# (Debian: apt install g++-aarch64-linux-gnu qemu-user).
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=${CXX_AARCH64:-aarch64-linux-gnu-g++}
emulator=${QEMU_AARCH64:-qemu-aarch64}

for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

program=$(mktemp)
trap 'rm -f "$program"' EXIT
"$compiler" -O2 -std=c++17 -Wall -Wextra -Werror -Icsrc -DLENET_ISA=neon -DLENET_LANES=4 \
  tests/cross_aarch64.cpp csrc/cpu/fused.cpp csrc/cpu/fused_helpers.cpp \
  csrc/cpu/fused_kernels.cpp csrc/cpu/fused_memory.cpp csrc/cpu/isa.cpp -static -pthread -o "$program"
"$emulator" "$program"
