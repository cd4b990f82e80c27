#!/usr/bin/env bash
# Builds the double: build.sh OUTPUT_FOLDER CUDA_MAJOR NVRTC INCLUDE_FOLDER...
# NVRTC is NVIDIA's own library. The names and version nodes are NVIDIA's too, so that the extension
# takes the double for the real thing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
output=$1 major=$2 nvrtc=$3
shift 3
flags=(-std=c++17 -O2 -g -fPIC -Wall -Wextra -Wno-deprecated-declarations -I"$here"
  -DNVRTC="\"$nvrtc\"")
for folder in "$@"; do flags+=(-isystem "$folder"); done

build() { # SONAME SOURCE...
  local soname=$1 source object objects=() job jobs=()
  shift
  for source in "$@"; do
    object=$output/${source%.cpp}.o
    ${CXX:-c++} "${flags[@]}" $fast -c "$here/$source" -o "$object" &
    jobs+=($!)
    objects+=("$object")
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  echo "${soname//-/_} { global: *; };" > "$output/$soname.map" # a node has no hyphen
  ${CXX:-c++} -shared -Wl,-soname,"$soname" -Wl,--version-script="$output/$soname.map" \
    "${objects[@]}" -o "$output/$soname" "${link[@]}"
}

mkdir -p "$output"
link=(-pthread)
# Lanes are vectors here; a product is rounded before it is added to, unless PTX says otherwise.
fast='-ftree-vectorize -march=native -ffp-contract=off -g0'
build "libcudart.so.$major" cudart.cpp machine.cpp context.cpp ptx_text.cpp ptx_names.cpp \
  ptx_decode.cpp ptx_lanes.cpp grid.cpp grid_memory.cpp grid_sync.cpp host_memory.cpp
fast=''
build libnvidia-ml.so.1 nvml.cpp
build "libnvrtc.so.$major" nvrtc.cpp
link=(-Wl,-soname,libcuda_double.so.1) # or NVIDIA's NVRTC, which looks for a libcuda, would use it
build libcuda.so.1 cuda.cpp
link=("$output/libcudart.so.$major" "-Wl,-rpath,\$ORIGIN")
build "libcublas.so.$major" cublas.cpp
build libcudnn.so.9 cudnn.cpp cudnn_graph.cpp cudnn_engines.cpp cudnn_layers.cpp
