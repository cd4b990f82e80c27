#!/usr/bin/env bash
# Builds the double: build.sh OUTPUT_FOLDER CUDA_MAJOR INCLUDE_FOLDER...
# SOURCES names another copy of csrc/ (with a fault in a kernel, say), EARLIER a folder where the
# double was built before: what holds none of our kernels is taken from there.
# The names and version nodes are NVIDIA's, so that the extension takes it for the real thing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
output=$1 major=$2
shift 2
flags=(-std=c++17 -O2 -g -fPIC -Wall -Wextra -Wno-deprecated-declarations -Wno-unknown-pragmas
  -I"$here" -I"${SOURCES:-$here/../../csrc}")
for folder in "$@"; do flags+=(-isystem "$folder"); done

build() { # SONAME SOURCE...
  local soname=$1 source object objects=()
  shift
  for source in "$@"; do
    object=$output/${source%.cpp}.o
    if [ -n "${EARLIER:-}" ] && ! grep -q '#include "cuda/' "$here/$source"; then
      object=$EARLIER/${source%.cpp}.o
    else
      ${CXX:-c++} "${flags[@]}" $aligned -c "$here/$source" -o "$object"
    fi
    objects+=("$object")
  done
  echo "${soname//-/_} { global: *; };" > "$output/$soname.map" # a node has no hyphen
  ${CXX:-c++} -shared -Wl,-soname,"$soname" -Wl,--version-script="$output/$soname.map" \
    "${objects[@]}" -o "$output/$soname" "${link[@]}"
}

# A GPU stops at a vector that does not lie at a multiple of its size; the kernels do so here.
aligned='-fsanitize=alignment -fsanitize-undefined-trap-on-error'
mkdir -p "$output"
link=(-pthread)
build "libcudart.so.$major" cudart.cpp kernels.cpp persistent.cpp
aligned=''
build libnvidia-ml.so.1 nvml.cpp
link=(-Wl,-soname,libcuda_double.so.1) # or NVIDIA's NVRTC, which looks for a libcuda, would use it
build libcuda.so.1 cuda.cpp
link=("$output/libcudart.so.$major" "-Wl,-rpath,\$ORIGIN")
build "libcublas.so.$major" cublas.cpp
build libcudnn.so.9 cudnn.cpp cudnn_graph.cpp
