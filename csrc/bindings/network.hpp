// The Python face of a builder in C++: a network as a list of layers, then floats in and out.
//
// A builder is a class with
//   Built(const networks::Graph&, int threads, Options...);
//   std::int64_t inputs() const, answers() const;
//   void infer(const float* input, float* answer) const;
//   std::map<std::string, std::string> describe() const;
#pragma once

#include <array>
#include <tuple>

#include "bindings/backend.hpp"
#include "networks/graph.hpp"

namespace lenet::bindings {

/// Name, kind, the numbers of the layers that it reads (0 is the input); side, stride, pad, heads;
/// parameters.
using Described = std::tuple<std::string, std::string, std::vector<std::size_t>,
                             std::array<std::int64_t, 4>, std::vector<Floats>>;

inline networks::Graph graph_of(const networks::Shape& shape,
                                const std::vector<Described>& layers) {
  networks::Graph graph(shape);
  for (const auto& [name, kind, inputs, numbers, arrays] : layers) {
    const auto [side, stride, pad, heads] = numbers;
    std::vector<networks::Parameter> parameters;
    for (const Floats& one : arrays) {
      parameters.push_back({{one.shape(), one.shape() + one.ndim()}, one.data()});
    }
    graph.add({name, kind, inputs, side, stride, pad, heads, parameters});
  }
  return graph;
}

inline void translate_unsupported(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const networks::Unsupported& error) {
    const py::object cls = py::module_::import("lenet_bench.errors").attr("Unsupported");
    py::set_error(cls, error.what());
  }
}

/// One input, in whatever shape.
template <class Built>
Floats infer_one(const Built& built, const Floats& input) {
  if (input.size() != built.inputs()) {
    throw py::value_error("expected " + std::to_string(built.inputs()) + " floats, got " +
                          std::to_string(input.size()));
  }
  Floats answer(built.answers());
  const float* from = input.data();
  float* to = answer.mutable_data();
  {
    ReleasedGil released;
    built.infer(from, to);
  }
  return answer;
}

template <class Built, class... Options, class... Arguments>
void bind_built(py::module_& module, const char* name, const Arguments&... arguments) {
  py::register_local_exception_translator(&translate_unsupported);
  py::class_<Built>(module, name)
      .def(py::init([](const networks::Shape& shape, const std::vector<Described>& layers,
                       int threads, const Options&... options) {
             const networks::Graph graph = graph_of(shape, layers);
             const ReleasedGil released;
             return std::make_unique<Built>(graph, threads, options...);
           }),
           py::arg("shape"), py::arg("layers"), py::arg("threads"), arguments...)
      .def("infer", &infer_one<Built>, py::arg("images"))
      .def("describe", &Built::describe, py::call_guard<ReleasedGil>());
}

}  // namespace lenet::bindings
