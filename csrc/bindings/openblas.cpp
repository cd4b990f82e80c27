// lenet_bench._openblas
#include "cpu/openblas.hpp"

#include "bindings/rung.hpp"

PYBIND11_MODULE(_openblas, module, pybind11::mod_gil_not_used()) {
  lenet::bindings::bind<lenet::OpenBlas>(module, "OpenBlas");
}
