# lenet_bench._cuda${major}, against NVIDIA's wheels or a system toolkit with cuDNN.
#
# CMake's FindCUDAToolkit knows nothing of the wheels: theirs are folders nvidia/*/{include,lib}
# whose libraries have no unversioned name.
ask_python(nvidia "import sys
from pathlib import Path
for entry in sys.path: # one of these wheels may bring a module that hides the others
    for folder in sorted(Path(entry, 'nvidia').glob('*/')):
        if not folder.name.startswith('cu1') or folder.name == 'cu${major}':
            print(folder)")
set(cuda_places ${LENET_CUDA_ROOT} ${nvidia} /usr/local/cuda-${major} /usr/local/cuda)
set(cuda_found TRUE)
set(cuda_includes "")
set(cuda_libraries "")

foreach(header cuda_runtime.h crt/host_defines.h nv/target cublas_v2.h nvrtc.h cudnn.h)
  string(MAKE_C_IDENTIFIER "LENET_CUDA${major}_${header}" entry)
  find_path(${entry} ${header} HINTS ${cuda_places}
    PATH_SUFFIXES include include/cccl targets/x86_64-linux/include)
  list(APPEND cuda_includes ${${entry}})
  if(NOT ${entry})
    message(STATUS "CUDA ${major}: no ${header}")
    set(cuda_found FALSE)
  endif()
endforeach()
foreach(library libcudart.so.${major} libcublas.so.${major} libnvrtc.so.${major} libcudnn.so.9)
  string(MAKE_C_IDENTIFIER "LENET_CUDA${major}_${library}" entry)
  find_library(${entry} NAMES ${library} HINTS ${cuda_places} PATH_SUFFIXES lib lib64)
  list(APPEND cuda_libraries ${${entry}})
  if(NOT ${entry})
    message(STATUS "CUDA ${major}: no ${library}")
    set(cuda_found FALSE)
  endif()
endforeach()
if(NOT cuda_found)
  message(FATAL_ERROR "LENET_CUDA asks for CUDA ${major}, and its headers and libraries (with cuDNN 9) "
    "are not all here; `pip install . -C lenet.cuda=${major}` brings them")
endif()
list(REMOVE_DUPLICATES cuda_includes)

file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/csrc/cuda/*.cpp)
foreach(text cuda/fused.cu cuda/cluster.cu cuda/layers.cuh cuda/signals.cuh cuda/fused_geometry.hpp
    cuda/mailbox.hpp shapes.hpp)
  get_filename_component(name ${text} NAME)
  file(READ csrc/${text} ${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS csrc/${text})
endforeach()
configure_file(csrc/cuda/kernel_source.cpp.in kernel_source.cpp @ONLY)
pybind11_add_module(_cuda${major} MODULE NO_EXTRAS csrc/bindings/cuda.cpp
  csrc/bindings/gpu_floors.cpp csrc/bindings/gpu_probe.cpp csrc/bindings/on_gpu.cpp csrc/networks/cudnn.cpp
  csrc/networks/graph.cpp ${cuda_sources}
  ${CMAKE_CURRENT_BINARY_DIR}/kernel_source.cpp)
target_compile_definitions(_cuda${major} PRIVATE LENET_MODULE=_cuda${major})
target_compile_options(_cuda${major} PRIVATE # errors name csrc/cuda/cudnn.cpp, wherever it was built
  -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=)
target_include_directories(_cuda${major} PRIVATE csrc)
target_include_directories(_cuda${major} SYSTEM PRIVATE ${cuda_includes})
target_link_libraries(_cuda${major} PRIVATE ${cuda_libraries})
# The Python face loads the libraries first (registry/cuda.py): no path of the build stays in.
set_target_properties(_cuda${major} PROPERTIES SKIP_BUILD_RPATH ON INSTALL_RPATH "")
install(TARGETS _cuda${major} LIBRARY DESTINATION lenet_bench)
