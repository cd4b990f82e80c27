// A primitive a layer, the memory formats left to the library, additions and ReLUs fused to what
// comes before them. Images are described as (1, channels, rows, columns), all else as plain
// matrices (tokens, floats).
#include "networks/onednn.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace lenet::networks {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

constexpr auto kInference = dnnl::prop_kind::forward_inference;
constexpr float kEpsilon = 1e-5f;  // of layer normalisation (networks/exact.py)

memory::desc f32(const Dims& dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

memory::desc f32(const Dims& dims, const Dims& strides) {
  return memory::desc(dims, memory::data_type::f32, strides);
}

memory::desc plain(const Shape& shape) {
  if (shape.size() == 3) return f32({1, shape[0], shape[1], shape[2]}, Tag::nchw);
  return f32(shape.size() == 2 ? shape : Shape{1, shape[0]}, Tag::ab);
}

/// float32 means float32: no bfloat16 inside.
dnnl::primitive_attr strict(const Step& step = {}) {
  dnnl::post_ops after;
  if (step.added != 0) after.append_sum();
  if (step.relu) after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_post_ops(after);
  return attributes;
}

/// A GRU's gates as oneDNN orders them: update, reset, new.
std::vector<float> update_first(const Parameter& gates) {
  const auto floats = floats_of(gates.shape) / 3;
  std::vector<float> result(gates.values, gates.values + 3 * floats);
  std::swap_ranges(result.begin(), result.begin() + floats, result.begin() + floats);
  return result;
}

}  // namespace

AnyOnOneDnn::AnyOnOneDnn(const Graph& graph, int threads)
    : threads_(threads),
      inputs_(floats_of(graph[0].shape)),
      answers_(floats_of(graph.layers().back().shape)) {
  omp_set_num_threads(threads_);
  const memory input(plain(graph[0].shape), engine_, nullptr);
  given_.push_back(input);

  std::vector<Value> values(graph.layers().size());
  std::vector<std::size_t> left(values.size());  // readers
  for (std::size_t number = 0; number < left.size(); ++number) {
    left[number] = graph.readers(number).size();
  }
  values[0].memory = input;
  for (const Step& step : steps_of(graph)) {
    const Layer& layer = graph[step.layer];
    std::vector<Value> given;
    for (const std::size_t one : layer.inputs) given.push_back(values[one]);
    kind_ = layer.kind;
    try {
      values[step.output] = compute(layer, step, given, values[step.added]);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      throw Unsupported("oneDNN does not have layer " + layer.name + ": " + error.message);
    }
    for (const std::size_t one : layer.inputs) {
      if (--left[one] == 0) values[one] = {};
    }
    if (step.added != 0) values[step.added] = {};
  }
  answer_ = reordered(values.back(), plain(graph.layers().back().shape));
}

void AnyOnOneDnn::infer(const float* input, float* answer) {
  omp_set_num_threads(threads_);  // for the thread that calls
  for (memory& one : given_) one.set_data_handle(const_cast<float*>(input));
  for (const Call& call : calls_) {
    if (call.by_hand) {
      call.by_hand();
    } else {
      call.primitive.execute(stream_, call.arguments);
    }
  }
  stream_.wait();
  std::copy_n(static_cast<const float*>(answer_.memory.get_data_handle()), answers_, answer);
}

// layers ------------------------------------------------------------------------------------------

AnyOnOneDnn::Value AnyOnOneDnn::compute(const Layer& layer, const Step& step,
                                        const std::vector<Value>& given, Value added) {
  const std::string& kind = layer.kind;
  const Value& x = given[0];
  const memory::desc from = x.memory.get_desc();
  if (step.added == 0) added = {};
  if (kind == "conv") return convolve(layer, step, x, added);
  if (kind == "fc") {
    const auto& p = layer.parameters;
    return connect(x, p[0].values, p[1].values, p[0].shape[0], strict(step), added);
  }
  if (kind == "pool") {
    return pool(x, dnnl::algorithm::pooling_max, plain(layer.shape).get_dims(),
                {layer.side, layer.side}, layer.stride, layer.pad);
  }
  if (kind == "mean") {  // of tokens, as of an image with the channels last
    const Dims dims = from.get_dims();
    const bool image = dims.size() == 4;
    const Value pixels = image ? x : view(x, f32({1, dims[1], dims[0], 1}, Tag::nhwc));
    const Dims window = image ? Dims{dims[2], dims[3]} : Dims{dims[0], 1};
    const Value mean = pool(pixels, dnnl::algorithm::pooling_avg_exclude_padding,
                            {1, layer.shape[0], 1, 1}, window, 1, 0);
    return view(reordered(mean, f32({1, layer.shape[0], 1, 1}, Tag::nchw)), plain(layer.shape));
  }
  if (kind == "relu") {
    return put(
        dnnl::eltwise_forward::primitive_desc(engine_, kInference, dnnl::algorithm::eltwise_relu,
                                              from, from, 0.0f, 0.0f, strict()),
        {{DNNL_ARG_SRC, x.memory}});
  }
  if (kind == "softmax") {
    return put(dnnl::softmax_forward::primitive_desc(engine_, kInference,
                                                     dnnl::algorithm::softmax_accurate, from, from,
                                                     /*axis=*/1, strict()),
               {{DNNL_ARG_SRC, x.memory}});
  }
  if (kind == "add") {
    const Value other = reordered(given[1], from);
    return put(dnnl::binary::primitive_desc(engine_, dnnl::algorithm::binary_add, from, from, from,
                                            strict()),
               {{DNNL_ARG_SRC_0, x.memory}, {DNNL_ARG_SRC_1, other.memory}});
  }
  if (kind == "concat") {
    std::vector<memory::desc> descriptions;
    Arguments arguments;
    for (const Value& one : given) {
      arguments.insert({DNNL_ARG_MULTIPLE_SRC + int(descriptions.size()), one.memory});
      descriptions.push_back(one.memory.get_desc());
    }
    return put(dnnl::concat::primitive_desc(engine_, /*axis=*/1, descriptions), arguments);
  }
  if (kind == "embedding") return look_up(layer, x);
  if (kind == "gru") return recur(layer, x);
  if (kind == "attention") return attend(layer, x);
  if (kind != "norm") throw Unsupported("oneDNN's builder has no layer of the kind " + kind);
  const memory::desc floats = f32(layer.parameters[0].shape, Tag::a);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  return put(dnnl::layer_normalization_forward::primitive_desc(engine_, kInference, from, from,
                                                               kEpsilon, flags, strict()),
             {{DNNL_ARG_SRC, x.memory},
              {DNNL_ARG_SCALE, packed(layer.parameters[0].values, floats, floats)},
              {DNNL_ARG_SHIFT, packed(layer.parameters[1].values, floats, floats)}});
}

AnyOnOneDnn::Value AnyOnOneDnn::convolve(const Layer& layer, const Step& step, const Value& x,
                                         const Value& added) {
  const auto& [weight, bias] = std::tie(layer.parameters[0], layer.parameters[1]);
  const memory::desc to =
      added.memory ? added.memory.get_desc() : f32(plain(layer.shape).get_dims(), Tag::any);
  const Dims strides(2, layer.stride), pads(2, layer.pad);
  const dnnl::convolution_forward::primitive_desc description(
      engine_, kInference, dnnl::algorithm::convolution_auto,
      f32(x.memory.get_desc().get_dims(), Tag::any), f32(weight.shape, Tag::any),
      f32(bias.shape, Tag::a), to, strides, pads, pads, strict(step));
  const Value from = reordered(x, description.src_desc());
  return put(
      description,
      {{DNNL_ARG_SRC, from.memory},
       {DNNL_ARG_WEIGHTS,
        packed(weight.values, f32(weight.shape, Tag::oihw), description.weights_desc())},
       {DNNL_ARG_BIAS, packed(bias.values, f32(bias.shape, Tag::a), description.bias_desc())}},
      added);
}

/// Of all of an image, or of each token.
AnyOnOneDnn::Value AnyOnOneDnn::connect(const Value& x, const float* weight, const float* bias,
                                        memory::dim outputs, const dnnl::primitive_attr& attributes,
                                        const Value& added) {
  const Dims given = x.memory.get_desc().get_dims();
  Dims matrix = given;
  matrix[0] = outputs;
  const dnnl::inner_product_forward::primitive_desc description(
      engine_, kInference, f32(given, Tag::any), f32(matrix, Tag::any), f32({outputs}, Tag::a),
      f32({given[0], outputs}, Tag::ab), attributes);
  const Value from = reordered(x, description.src_desc());
  const Tag tag = given.size() == 4 ? Tag::oihw : Tag::oi;
  return put(description,
             {{DNNL_ARG_SRC, from.memory},
              {DNNL_ARG_WEIGHTS, packed(weight, f32(matrix, tag), description.weights_desc())},
              {DNNL_ARG_BIAS, packed(bias, f32({outputs}, Tag::a), description.bias_desc())}},
             added);
}

AnyOnOneDnn::Value AnyOnOneDnn::pool(const Value& x, dnnl::algorithm algorithm, const Dims& to,
                                     const Dims& window, memory::dim stride, memory::dim pad) {
  const Dims none = {0, 0}, strides(2, stride), pads(2, pad);
  return put(dnnl::pooling_forward::primitive_desc(engine_, kInference, algorithm,
                                                   x.memory.get_desc(), f32(to, Tag::any), strides,
                                                   window, none, pads, pads, strict()),
             {{DNNL_ARG_SRC, x.memory}});
}

/// There is no primitive for it. Words are floats.
AnyOnOneDnn::Value AnyOnOneDnn::look_up(const Layer& layer, const Value& words) {
  const Value vectors = place(plain(layer.shape));
  const memory table = packed(layer.parameters[0].values, plain(layer.parameters[0].shape),
                              plain(layer.parameters[0].shape));
  const std::int64_t count = layer.parameters[0].shape[0], width = layer.shape[1];
  const auto copy = [=, from = words.memory, to = vectors.memory, tokens = layer.shape[0]] {
    const auto* word = static_cast<const float*>(from.get_data_handle());
    const auto* rows = static_cast<const float*>(table.get_data_handle());
    auto* out = static_cast<float*>(to.get_data_handle());
    for (std::int64_t token = 0; token < tokens; ++token, out += width) {
      if (!(word[token] >= 0 && word[token] < static_cast<float>(count))) {
        throw std::invalid_argument("a word is not from 0 to " + std::to_string(count - 1));
      }
      std::copy_n(rows + static_cast<std::int64_t>(word[token]) * width, width, out);
    }
  };
  calls_.push_back({{}, {}, copy});
  return vectors;
}

/// The last state of a GRU that is reset after the product ("linear before reset").
AnyOnOneDnn::Value AnyOnOneDnn::recur(const Layer& layer, const Value& x) {
  const memory::dim tokens = x.memory.get_desc().get_dims()[0], floats = layer.shape[0],
                    width = layer.parameters[0].shape[1];
  const auto& p = layer.parameters;
  const std::vector<float> of_x = update_first(p[0]), of_state = update_first(p[1]),
                           bias_state = update_first(p[3]);
  std::vector<float> bias = update_first(p[2]);  // update, reset, new of x, new of the state
  for (memory::dim i = 0; i < 2 * floats; ++i) bias[i] += bias_state[i];
  bias.insert(bias.end(), bias_state.end() - floats, bias_state.end());

  const Dims inward = {1, 1, width, 3, floats}, onward = {1, 1, floats, 3, floats};
  const memory::desc gates = f32({1, 1, 4, floats}, Tag::ldgo),
                     given = f32({tokens, 1, width}, Tag::tnc),
                     state = f32({1, 1, 1, floats}, Tag::ldnc);
  const dnnl::lbr_gru_forward::primitive_desc description(
      engine_, kInference, dnnl::rnn_direction::unidirectional_left2right, given, memory::desc(),
      f32(inward, Tag::any), f32(onward, Tag::any), gates, f32({tokens, 1, floats}, Tag::tnc),
      state, strict());
  const Value all = place(description.dst_layer_desc()), last = place(state);
  put(description,
      {{DNNL_ARG_SRC_LAYER, view(x, given).memory},
       {DNNL_ARG_WEIGHTS_LAYER,
        packed(of_x.data(), f32(inward, Tag::ldgoi), description.weights_layer_desc())},
       {DNNL_ARG_WEIGHTS_ITER,
        packed(of_state.data(), f32(onward, Tag::ldgoi), description.weights_iter_desc())},
       {DNNL_ARG_BIAS, packed(bias.data(), gates, gates)},
       {DNNL_ARG_DST_ITER, last.memory}},
      all);
  return view(last, plain(layer.shape));
}

/// Multi-head self-attention. Each head's queries, keys and values stay where the projection writes
/// them, and the scale of the scores is in the weights of the queries.
AnyOnOneDnn::Value AnyOnOneDnn::attend(const Layer& layer, const Value& x) {
  const memory::dim tokens = layer.shape[0], width = layer.shape[1], heads = layer.heads,
                    size = width / heads;
  const auto& p = layer.parameters;
  std::vector<float> weight(p[0].values, p[0].values + 3 * width * width),
      bias(p[1].values, p[1].values + 3 * width);
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  std::for_each_n(weight.begin(), width * width, [=](float& value) { value *= scale; });
  std::for_each_n(bias.begin(), width, [=](float& value) { value *= scale; });

  const Value all = connect(x, weight.data(), bias.data(), 3 * width, strict());
  const memory::desc by_head = f32({heads, tokens, size}, Dims{size, 3 * width, 1}),
                     turned = f32({heads, size, tokens}, Dims{size, 1, 3 * width}),
                     scores = f32({heads, tokens, tokens}, Tag::abc);
  const Value shares =
      multiply(view(all, by_head).memory, view(all, turned, width).memory, place(scores));
  put(dnnl::softmax_forward::primitive_desc(engine_, kInference, dnnl::algorithm::softmax_accurate,
                                            scores, scores, /*axis=*/2, strict()),
      {{DNNL_ARG_SRC, shares.memory}}, shares);
  const Value attended = place(plain(layer.shape));
  multiply(shares.memory, view(all, by_head, 2 * width).memory,
           view(attended, f32({heads, tokens, size}, Dims{size, width, 1})));
  return connect(attended, p[2].values, p[3].values, width, strict());
}

AnyOnOneDnn::Value AnyOnOneDnn::multiply(const memory& a, const memory& b, Value into) {
  const dnnl::matmul::primitive_desc description(engine_, a.get_desc(), b.get_desc(),
                                                 into.memory.get_desc(), strict());
  return put(description, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}}, std::move(into));
}

// memory ------------------------------------------------------------------------------------------

template <class Description>
AnyOnOneDnn::Value AnyOnOneDnn::put(const Description& description, Arguments arguments,
                                    Value into) {
  if (!into.memory) into = place(description.dst_desc());
  arguments.insert({DNNL_ARG_DST, into.memory});
  implementations_[kind_].insert(description.impl_info_str());
  calls_.push_back({dnnl::primitive(description.get()), std::move(arguments), {}});
  return into;
}

AnyOnOneDnn::Value AnyOnOneDnn::place(const memory::desc& description) {
  const auto make = [this](std::size_t bytes) {
    const Dims room = {static_cast<memory::dim>(bytes)};
    return memory(memory::desc(room, memory::data_type::u8, Tag::a), engine_);
  };
  const auto block = pool_.take(description.get_size(), make);
  return {memory(description, engine_, block->get_data_handle()), block};
}

AnyOnOneDnn::Value AnyOnOneDnn::view(const Value& value, const memory::desc& description,
                                     std::int64_t from) {
  auto* start = static_cast<float*>(value.memory.get_data_handle());
  if (start != nullptr) return {memory(description, engine_, start + from), value.block};
  given_.emplace_back(description, engine_, nullptr);  // the input, from its first float on
  return {given_.back(), {}};
}

/// Where a layer reads another format than the one before it wrote, a reorder stands between.
AnyOnOneDnn::Value AnyOnOneDnn::reordered(const Value& value, const memory::desc& to) {
  const memory::desc from = value.memory.get_desc();
  if (from == to) return value;
  const dnnl::reorder::primitive_desc description(engine_, from, engine_, to, strict());
  calls_.push_back({dnnl::reorder(description), {{DNNL_ARG_SRC, value.memory}}, {}});
  Value result = place(to);
  calls_.back().arguments.insert({DNNL_ARG_DST, result.memory});
  return result;
}

/// Parameters in the format that a primitive asked for, in memory that oneDNN owns.
memory AnyOnOneDnn::packed(const float* values, const memory::desc& plain, const memory::desc& to) {
  memory from(plain, engine_, const_cast<float*>(values)), result(to, engine_);
  dnnl::reorder(from, result).execute(stream_, from, result);
  stream_.wait();
  return result;
}

}  // namespace lenet::networks
