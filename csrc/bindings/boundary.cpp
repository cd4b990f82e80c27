// lenet_bench._boundary: the check of the native backends for those in Python, so that none of them
// pays more for it.
#include "bindings/input.hpp"

PYBIND11_MODULE(_boundary, module, pybind11::mod_gil_not_used()) {
  module.def("is_ready", &lenet::bindings::is_ready, pybind11::arg("images"));
}
