// lenet_bench._onednn
#include "cpu/onednn.hpp"

#include "bindings/rung.hpp"

PYBIND11_MODULE(_onednn, module, pybind11::mod_gil_not_used()) {
  lenet::bindings::bind<lenet::OneDnn>(module, "OneDnn");
}
