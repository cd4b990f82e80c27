#include "networks/graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace lenet::networks {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // floats of an output, or of a parameter

bool beyond(std::int64_t number) { return number < 1 || number > kLargest; }

[[noreturn]] void refuse(const Layer& layer, const std::string& why) {
  throw std::invalid_argument("layer " + layer.name + " of the kind " + layer.kind + " " + why);
}

std::string text(const Shape& shape) {
  std::string joined;
  for (const std::int64_t length : shape) {
    joined += (joined.empty() ? "" : ", ") + std::to_string(length);
  }
  return "(" + joined + ")";
}

void require_dimensions(const Layer& layer, const Shape& given, std::size_t dimensions) {
  if (given.size() == dimensions) return;
  refuse(layer, "takes " + std::to_string(dimensions) + " dimensions and gets " + text(given));
}

void require_parameters(const Layer& layer, const std::vector<Shape>& expected) {
  if (layer.parameters.size() != expected.size()) {
    refuse(layer, "has " + std::to_string(layer.parameters.size()) + " parameters in place of " +
                      std::to_string(expected.size()));
  }
  for (std::size_t number = 0; number < expected.size(); ++number) {
    const Shape& found = layer.parameters[number].shape;
    if (found == expected[number]) continue;
    refuse(layer,
           "has a parameter of shape " + text(found) + " in place of " + text(expected[number]));
  }
}

/// The first dimension of its first parameter.
std::int64_t outputs_of(const Layer& layer) {
  if (layer.parameters.empty() || layer.parameters[0].shape.empty()) {
    refuse(layer, "has no parameter that says how many outputs it has");
  }
  return layer.parameters[0].shape[0];
}

Shape windows(const Layer& layer, const Shape& given, std::int64_t channels) {
  require_dimensions(layer, given, 3);
  Shape shape = {channels};
  for (const std::int64_t length : {given[1], given[2]}) {
    const std::int64_t room = length + 2 * layer.pad - layer.side;
    if (room < 0) refuse(layer, "has a window larger than its input " + text(given));
    shape.push_back(room / layer.stride + 1);
  }
  return shape;
}

Shape shape_of(const Layer& layer, const std::vector<Shape>& inputs) {
  const std::string& kind = layer.kind;
  const Shape& given = inputs[0];
  const std::int64_t width = given.back();
  std::vector<Shape> parameters;
  Shape shape = given;
  if (kind == "conv") {
    const std::int64_t out = outputs_of(layer);
    shape = windows(layer, given, out);
    parameters = {{out, given[0], layer.side, layer.side}, {out}};
  } else if (kind == "pool") {
    shape = windows(layer, given, given[0]);
  } else if (kind == "mean") {
    if (given.size() == 1) refuse(layer, "takes an image or tokens and gets " + text(given));
    shape = {given.size() == 3 ? given[0] : width};
  } else if (kind == "fc") {
    const std::int64_t out = outputs_of(layer);
    shape = given.size() == 2 ? Shape{given[0], out} : Shape{out};
    parameters = {{out, given.size() == 2 ? width : floats_of(given)}, {out}};
  } else if (kind == "softmax") {
    require_dimensions(layer, given, 1);
  } else if (kind == "add") {
    if (inputs[1] != given) refuse(layer, "gets " + text(given) + " and " + text(inputs[1]));
  } else if (kind == "concat") {
    shape[0] = 0;
    for (const Shape& one : inputs) {
      require_dimensions(layer, one, 3);
      if (one[1] != given[1] || one[2] != given[2]) {
        refuse(layer, "gets " + text(given) + " and " + text(one));
      }
      shape[0] += one[0];
    }
  } else if (kind == "embedding") {
    require_dimensions(layer, given, 1);
    outputs_of(layer);
    shape = {width, layer.parameters[0].shape.back()};
    parameters = {{layer.side, shape[1]}};
  } else if (kind == "gru") {
    require_dimensions(layer, given, 2);
    const std::int64_t gates = outputs_of(layer), out = gates / 3;
    if (gates % 3 != 0) refuse(layer, "has a number of gates that is no multiple of 3");
    shape = {out};
    parameters = {{gates, width}, {gates, out}, {gates}, {gates}};
  } else if (kind == "attention") {
    require_dimensions(layer, given, 2);
    if (width % layer.heads != 0) refuse(layer, "has heads that do not divide " + text(given));
    parameters = {{3 * width, width}, {3 * width}, {width, width}, {width}};
  } else if (kind == "norm") {
    require_dimensions(layer, given, 2);
    parameters = {{width}, {width}};
  } else if (kind != "relu") {
    refuse(layer, "is unknown");
  }
  require_parameters(layer, parameters);
  return shape;
}

void require_size(const Layer& layer, const Shape& shape) {
  if (shape.empty() || shape.size() > 4 || std::any_of(shape.begin(), shape.end(), beyond) ||
      std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>()) > kLargest) {
    refuse(layer, "has the impossible shape " + text(shape));
  }
}

}  // namespace

std::int64_t floats_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Graph::Graph(const Shape& input) {
  layers_.emplace_back();
  layers_[0].name = layers_[0].kind = "input";
  require_size(layers_[0], input);
  require_dimensions(layers_[0], input, std::min<std::size_t>(input.size(), 3));
  layers_[0].shape = input;
}

void Graph::add(Layer layer) {
  if (beyond(layer.side) || beyond(layer.stride) || beyond(layer.heads) || layer.pad < 0 ||
      layer.pad >= layer.side) {
    refuse(layer, "has an impossible side, stride, pad or number of heads");
  }
  const std::size_t taken = layer.inputs.size();
  if (layer.kind == "concat" ? taken == 0 : taken != (layer.kind == "add" ? 2 : 1)) {
    refuse(layer, "reads " + std::to_string(taken) + " layers");
  }
  std::vector<Shape> given;
  for (const std::size_t number : layer.inputs) {
    if (number >= layers_.size()) refuse(layer, "reads a layer that does not come before it");
    given.push_back(layers_[number].shape);
  }
  for (const Parameter& one : layer.parameters) require_size(layer, one.shape);
  layer.shape = shape_of(layer, given);
  require_size(layer, layer.shape);
  layers_.push_back(std::move(layer));
}

std::vector<std::size_t> Graph::readers(std::size_t number) const {
  std::vector<std::size_t> found;
  for (std::size_t reader = 0; reader < layers_.size(); ++reader) {
    const auto& inputs = layers_[reader].inputs;
    found.insert(found.end(), std::count(inputs.begin(), inputs.end(), number), reader);
  }
  return found;
}

std::vector<Step> steps_of(const Graph& graph) {
  std::vector<Step> steps;
  std::vector<bool> done(graph.layers().size());
  done[0] = true;
  /// The layer of this kind that alone reads a step's output; 0 where there is none.
  const auto next = [&](const Step& step, const char* kind) -> std::size_t {
    const auto readers = graph.readers(step.output);
    return readers.size() == 1 && graph[readers[0]].kind == kind ? readers[0] : 0;
  };
  for (std::size_t number = 1; number < done.size(); ++number) {
    if (done[number]) continue;
    Step step{number, 0, false, number};
    if (graph[number].kind == "conv" || graph[number].kind == "fc") {
      if (const std::size_t sum = next(step, "add")) {
        const auto& both = graph[sum].inputs;
        const std::size_t other = both[0] == step.output ? both[1] : both[0];
        const auto readers = graph.readers(other);
        const auto over = [&](std::size_t reader) { return reader == sum || done[reader]; };
        if (other != 0 && done[other] && std::all_of(readers.begin(), readers.end(), over)) {
          step.added = other;
          step.output = sum;
        }
      }
      if (const std::size_t relu = next(step, "relu")) {
        step.relu = true;
        step.output = relu;
      }
    }
    // What is between has no other reader.
    for (const std::size_t one : {number, step.output}) done[one] = true;
    if (step.relu && step.added != 0) done[graph[step.output].inputs[0]] = true;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace lenet::networks
