// LeNet on oneDNN: one primitive a layer, the memory formats left to the library.
//
// Each layer is described first (a primitive_desc with format_tag::any), then asked which formats
// it chose; weights are reordered into them once, and activations wherever two layers disagree.
#include "cpu/onednn.hpp"

#include <omp.h>

#include <utility>

namespace lenet {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kInference = dnnl::prop_kind::forward_inference;
const memory::dims kOne = {1, 1}, kTwo = {2, 2}, kNone = {0, 0};

memory::desc f32(const memory::dims& dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

/// float32 means float32: no bfloat16 inside.
dnnl::primitive_attr strict() {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

// fc1
dnnl::primitive_attr strict_with_relu() {
  dnnl::post_ops relu;
  relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes = strict();
  attributes.set_post_ops(relu);
  return attributes;
}

}  // namespace

OneDnn::OneDnn(const Weights& weights, int threads)
    : threads_(threads),
      image_(f32({1, 1, kImageSide, kImageSide}, Tag::nchw), engine_, nullptr),
      activation_(image_) {
  omp_set_num_threads(threads_);

  // conv1 and conv2
  const auto convolve = [&](const char* layer, const memory::dims& from, const memory::dims& to,
                            const float* weight, const float* bias) {
    const memory::dims kernel = {to[1], from[1], kKernelSide, kKernelSide};
    const dnnl::convolution_forward::primitive_desc description(
        engine_, kInference, dnnl::algorithm::convolution_auto, f32(from, Tag::any),
        f32(kernel, Tag::any), f32({to[1]}, Tag::a), f32(to, Tag::any), kOne, kNone, kNone,
        strict());
    reorder_activation(description.src_desc());
    add(layer, description,
        {{DNNL_ARG_WEIGHTS, reordered(weight, f32(kernel, Tag::oihw), description.weights_desc())},
         {DNNL_ARG_BIAS, reordered(bias, f32({to[1]}, Tag::a), description.bias_desc())}});
  };

  // pool1 and pool2
  const auto max_pool = [&](const char* layer, const memory::dims& to) {
    add(layer, dnnl::pooling_forward::primitive_desc(
                   engine_, kInference, dnnl::algorithm::pooling_max, activation_.get_desc(),
                   f32(to, Tag::any), kTwo, kTwo, kNone, kNone, kNone, strict()));
  };

  // fc1 and fc2
  const auto fully_connect = [&](const char* layer, const memory::dims& from, Tag tag,
                                 memory::dim outputs, const float* weight, const float* bias,
                                 const dnnl::primitive_attr& attributes) {
    memory::dims matrix = from;
    matrix[0] = outputs;
    const dnnl::inner_product_forward::primitive_desc description(
        engine_, kInference, f32(from, Tag::any), f32(matrix, Tag::any), f32({outputs}, Tag::a),
        f32({1, outputs}, Tag::ab), attributes);
    reorder_activation(description.src_desc());
    add(layer, description,
        {{DNNL_ARG_WEIGHTS, reordered(weight, f32(matrix, tag), description.weights_desc())},
         {DNNL_ARG_BIAS, reordered(bias, f32({outputs}, Tag::a), description.bias_desc())}});
  };

  convolve("conv1", {1, 1, kImageSide, kImageSide}, {1, kConv1Channels, kConv1Side, kConv1Side},
           weights.conv1_weight, weights.conv1_bias);
  max_pool("pool1", {1, kConv1Channels, kPool1Side, kPool1Side});
  convolve("conv2", {1, kConv1Channels, kPool1Side, kPool1Side},
           {1, kConv2Channels, kConv2Side, kConv2Side}, weights.conv2_weight, weights.conv2_bias);
  max_pool("pool2", {1, kConv2Channels, kPool2Side, kPool2Side});
  fully_connect("fc1", {1, kConv2Channels, kPool2Side, kPool2Side}, Tag::oihw, kFc1Outputs,
                weights.fc1_weight, weights.fc1_bias, strict_with_relu());
  fully_connect("fc2", {1, kFc1Outputs}, Tag::oi, kClasses, weights.fc2_weight, weights.fc2_bias,
                strict());
  // softmax
  add("probabilities",
      dnnl::softmax_forward::primitive_desc(engine_, kInference, dnnl::algorithm::softmax_accurate,
                                            activation_.get_desc(), f32({1, kClasses}, Tag::ab),
                                            /*axis=*/1, strict()));
}

template <class Description>
void OneDnn::add(const char* layer, const Description& description, Arguments arguments) {
  memory output(description.dst_desc(), engine_);
  arguments.insert({{DNNL_ARG_SRC, activation_}, {DNNL_ARG_DST, output}});
  steps_.push_back({layer, description.impl_info_str(), dnnl::primitive(description.get()),
                    std::move(arguments)});
  activation_ = std::move(output);
}

/// Where the next layer reads another format than the last one wrote, a reorder stands between.
void OneDnn::reorder_activation(const memory::desc& to) {
  const memory::desc from = activation_.get_desc();
  if (from != to) add("", dnnl::reorder::primitive_desc(engine_, from, engine_, to, strict()));
}

/// The values in the format that a primitive asked for, in memory that oneDNN owns.
// load
memory OneDnn::reordered(const float* values, const memory::desc& plain, const memory::desc& to) {
  memory from(plain, engine_, const_cast<float*>(values)), result(to, engine_);
  dnnl::reorder(from, result).execute(stream_, from, result);
  stream_.wait();
  return result;
}

void OneDnn::infer(const float* image, float* probabilities) {
  omp_set_num_threads(threads_);  // for the thread that calls
  image_.set_data_handle(const_cast<float*>(image));
  activation_.set_data_handle(probabilities);
  for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
  stream_.wait();
}

}  // namespace lenet
