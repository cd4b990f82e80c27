// lenet_bench._fused
#include "cpu/fused.hpp"

#include "bindings/rung.hpp"

PYBIND11_MODULE(_fused, module, pybind11::mod_gil_not_used()) {
  lenet::bindings::bind<lenet::Fused, std::string>(module, "Fused", pybind11::arg("variant") = "");
}
