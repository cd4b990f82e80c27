#!/bin/sh
# build.sh PYTHON OUTPUT: the fused kernels and the preparation of pictures as WebAssembly, by the
# compiler in PyPI's ziglang.
set -e
csrc=$(dirname "$0")/..
"$1" -m ziglang c++ -target wasm32-wasi -mexec-model=reactor -std=c++17 -O3 -msimd128 \
  -DLENET_ISA=wasm -DLENET_LANES=4 -I"$csrc" -Wall -Wextra -Werror -fno-exceptions -fno-rtti \
  -fvisibility=hidden -Wl,--no-entry -Wl,--export-dynamic -Wl,--strip-all \
  "$csrc/wasm/classroom.cpp" "$csrc/wasm/pictures.cpp" "$csrc"/images/*.cpp -o "$2"
chmod 644 "$2"
