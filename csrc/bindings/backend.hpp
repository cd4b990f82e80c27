// The Python face of a native backend, the same for all: it checks what comes in, releases the GIL
// while the network is built and runs, and leaves every other object to Python's own
// `check_images`, so that an error reads the same on every backend.
//
// A backend is a class with
//   Backend(const Weights&, int threads, Options...)
//   void infer(const float* images, std::size_t count, float* probabilities) const;
//   std::vector<Layer> layers(const float* image) const;
//   std::map<std::string, std::string> describe() const;
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/input.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/variants.hpp"
#include "lenet.hpp"

namespace lenet::bindings {

namespace py = pybind11;

using Floats = py::array_t<float, py::array::c_style>;

/// What Python makes of an array that is not ready: a copy of it, or an error.
inline py::object checked(const char* check, const py::object& images) {
  return py::module_::import("lenet_bench.registry.input").attr(check)(images);
}

template <class Backend>
Floats infer(const Backend& backend, py::object images) {
  if (!is_ready(images)) images = checked("check_images", images);
  const auto input = py::reinterpret_borrow<py::array>(images);
  const bool batch = input.ndim() == 3;
  const py::ssize_t count = batch ? input.shape(0) : 1;
  Floats probabilities = batch ? Floats({count, py::ssize_t{kClasses}}) : Floats(kClasses);
  const auto* from = static_cast<const float*>(input.data());
  auto* to = probabilities.mutable_data();
  {
    ReleasedGil released;
    backend.infer(from, static_cast<std::size_t>(count), to);
  }
  return probabilities;
}

/// Each layer in the shape that `network.LAYERS` gives it, so that no shape is told twice.
template <class Backend>
py::dict layers(const Backend& backend, const py::object& image) {
  const py::array input = checked("check_image", image);
  std::vector<Layer> outputs;
  {
    ReleasedGil released;
    outputs = backend.layers(static_cast<const float*>(input.data()));
  }
  const py::object shapes = py::module_::import("lenet_bench.network").attr("LAYERS");
  py::dict result;
  for (const Layer& layer : outputs) {
    const Floats flat(static_cast<py::ssize_t>(layer.values.size()), layer.values.data());
    const py::str name(layer.name);
    result[name] = flat.attr("reshape")(shapes[name]);
  }
  return result;
}

/// One parameter, borrowed. What `read_weights` gave has been checked; what was made by hand may
/// not have been.
inline const float* parameter(const py::object& weights, const char* name,
                              std::initializer_list<py::ssize_t> shape) {
  const py::object found = weights[py::str(name)];
  if (!py::isinstance<Floats>(found)) {
    throw py::type_error(std::string(name) + ": expected a contiguous float32 array");
  }
  const auto array = py::reinterpret_borrow<Floats>(found);
  if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim())) {
    throw py::value_error(std::string(name) + ": of another shape than LeNet's");
  }
  return array.data();
}

inline Weights weights_from(const py::object& weights) {
  return {
      parameter(weights, "conv1.weight", {kConv1Channels, 1, kKernelSide, kKernelSide}),
      parameter(weights, "conv1.bias", {kConv1Channels}),
      parameter(weights, "conv2.weight",
                {kConv2Channels, kConv1Channels, kKernelSide, kKernelSide}),
      parameter(weights, "conv2.bias", {kConv2Channels}),
      parameter(weights, "fc1.weight", {kFc1Outputs, kFc1Inputs}),
      parameter(weights, "fc1.bias", {kFc1Outputs}),
      parameter(weights, "fc2.weight", {kClasses, kFc1Outputs}),
      parameter(weights, "fc2.bias", {kClasses}),
  };
}

/// For a type_caster: Python gives a variant by its name.
template <class Variant>
struct VariantCaster {
  PYBIND11_TYPE_CASTER(Variant, py::detail::const_name("str"));

  bool load(py::handle given, bool /*convert*/) {
    if (!py::isinstance<py::str>(given)) return false;
    value = variant_of<Variant>(given.cast<std::string>());
    return true;
  }
};

/// Binds a backend whose constructor takes `Options` after the threads, each with its py::arg.
template <class Backend, class... Options, class... Arguments>
py::class_<Backend> bind(py::module_& module, const char* name, const Arguments&... arguments) {
  return py::class_<Backend>(module, name)
      .def(py::init([](const py::object& weights, int threads, const Options&... options) {
             const Weights borrowed = weights_from(weights);
             const ReleasedGil released;
             return std::make_unique<Backend>(borrowed, threads, options...);
           }),
           py::arg("weights"), py::arg("threads"), arguments...)
      .def("infer", &infer<Backend>, py::arg("images"))
      .def("layers", &layers<Backend>, py::arg("image"))
      .def("describe", &Backend::describe, py::call_guard<ReleasedGil>());
}

}  // namespace lenet::bindings
