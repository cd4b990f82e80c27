// LeNet on oneDNN: one primitive a layer, the memory formats left to the library.
//
// Each layer is described first (a primitive_desc with format_tag::any), then asked which formats
// it chose; weights are reordered into them once, and activations wherever two layers disagree.
#include "cpu/onednn.hpp"

#include <omp.h>

#include <algorithm>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

namespace lenet {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Arguments = std::unordered_map<int, memory>;

constexpr auto kInference = dnnl::prop_kind::forward_inference;
const memory::dims kOne = {1, 1}, kTwo = {2, 2}, kNone = {0, 0};

memory::desc f32(const memory::dims& dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

/// float32 means float32 (no bfloat16 inside), and whoever executes brings the scratchpad, so
/// that a primitive holds no state and threads may share it.
dnnl::primitive_attr strict() {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr strict_with_relu() {
  dnnl::post_ops relu;
  relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes = strict();
  attributes.set_post_ops(relu);
  return attributes;
}

/// oneDNN splits its work by the OpenMP setting of the calling thread, which is the caller's own
/// and so is put back.
class OmpThreads {
 public:
  explicit OmpThreads(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~OmpThreads() { omp_set_num_threads(before_); }
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

 private:
  int before_;
};

/// A primitive, which of the network's activations it reads and writes, and its own weights.
struct Step {
  std::string layer;  // empty for a reorder between two layers
  std::string implementation;
  dnnl::primitive primitive;
  memory::desc from, to, scratchpad;
  Arguments weights;
};

/// What one thread needs to run the network: 0.3 MB, made once and used for call after call.
struct Execution {
  dnnl::stream stream;
  memory image, probabilities;
  std::vector<memory> activations;   // what each step writes
  std::vector<Arguments> arguments;  // of each step
};

const char* isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "AVX2 VNNI 2";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 FP16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 AMX";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "AVX-512 AMX FP16";
    default:
      return "generic";
  }
}

}  // namespace

class OneDnn::Network {
 public:
  Network(const Weights& weights, int threads);

  void infer(const float* images, std::size_t count, float* probabilities);
  std::vector<Layer> layers(const float* image);
  std::map<std::string, std::string> describe() const;

 private:
  template <class Description>
  void add(const char* layer, const Description& description, Arguments weights = {});
  void reorder_activations(const memory::desc& to);
  memory reordered(const float* values, const memory::desc& plain, const memory::desc& to);

  std::unique_ptr<Execution> make_execution() const;
  std::unique_ptr<Execution> take_execution();
  void give_back(std::unique_ptr<Execution> execution);
  void run(Execution& execution, const float* image, float* probabilities) const;

  int threads_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::vector<Step> steps_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Execution>> idle_;
};

OneDnn::Network::Network(const Weights& weights, int threads) : threads_(threads) {
  const OmpThreads scope(threads_);
  dnnl::set_verbose(0);

  const auto convolve = [&](const char* layer, const memory::dims& from, const memory::dims& to,
                            const float* weight, const float* bias) {
    const memory::dims kernel = {to[1], from[1], kKernelSide, kKernelSide};
    const dnnl::convolution_forward::primitive_desc description(
        engine_, kInference, dnnl::algorithm::convolution_auto, f32(from, Tag::any),
        f32(kernel, Tag::any), f32({to[1]}, Tag::a), f32(to, Tag::any), kOne, kNone, kNone,
        strict());
    reorder_activations(description.src_desc());
    add(layer, description,
        {{DNNL_ARG_WEIGHTS, reordered(weight, f32(kernel, Tag::oihw), description.weights_desc())},
         {DNNL_ARG_BIAS, reordered(bias, f32({to[1]}, Tag::a), description.bias_desc())}});
  };

  const auto max_pool = [&](const char* layer, const memory::dims& to) {
    add(layer, dnnl::pooling_forward::primitive_desc(
                   engine_, kInference, dnnl::algorithm::pooling_max, steps_.back().to,
                   f32(to, Tag::any), kTwo, kTwo, kNone, kNone, kNone, strict()));
  };

  const auto fully_connect = [&](const char* layer, const memory::dims& from, Tag tag,
                                 memory::dim outputs, const float* weight, const float* bias,
                                 const dnnl::primitive_attr& attributes) {
    memory::dims matrix = from;
    matrix[0] = outputs;
    const dnnl::inner_product_forward::primitive_desc description(
        engine_, kInference, f32(from, Tag::any), f32(matrix, Tag::any), f32({outputs}, Tag::a),
        f32({1, outputs}, Tag::ab), attributes);
    reorder_activations(description.src_desc());
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
  add("probabilities", dnnl::softmax_forward::primitive_desc(
                           engine_, kInference, dnnl::algorithm::softmax_accurate, steps_.back().to,
                           f32({1, kClasses}, Tag::ab), /*axis=*/1, strict()));
}

template <class Description>
void OneDnn::Network::add(const char* layer, const Description& description, Arguments weights) {
  steps_.push_back({layer, description.impl_info_str(), dnnl::primitive(description.get()),
                    description.src_desc(), description.dst_desc(), description.scratchpad_desc(),
                    std::move(weights)});
}

/// Where the next layer reads another format than the last one wrote, a reorder stands between.
void OneDnn::Network::reorder_activations(const memory::desc& to) {
  const memory::desc from =
      steps_.empty() ? f32({1, 1, kImageSide, kImageSide}, Tag::nchw) : steps_.back().to;
  if (from == to) return;
  const dnnl::reorder::primitive_desc description(engine_, from, engine_, to, strict());
  add("", description);
}

/// The values in the format that a primitive asked for, in memory that oneDNN owns.
memory OneDnn::Network::reordered(const float* values, const memory::desc& plain,
                                  const memory::desc& to) {
  memory from(plain, engine_, const_cast<float*>(values));
  memory result(to, engine_);
  dnnl::stream stream(engine_);
  dnnl::reorder(from, result).execute(stream, from, result);
  stream.wait();
  return result;
}

std::unique_ptr<Execution> OneDnn::Network::make_execution() const {
  auto execution = std::make_unique<Execution>();
  execution->stream = dnnl::stream(engine_);
  execution->image = memory(steps_.front().from, engine_, nullptr);
  execution->probabilities = memory(steps_.back().to, engine_, nullptr);
  memory previous = execution->image;
  for (const Step& step : steps_) {
    const bool last = &step == &steps_.back();
    memory next = last ? execution->probabilities : memory(step.to, engine_);
    Arguments arguments = step.weights;
    arguments[DNNL_ARG_SRC] = previous;
    arguments[DNNL_ARG_DST] = next;
    arguments[DNNL_ARG_SCRATCHPAD] = memory(step.scratchpad, engine_);
    execution->arguments.push_back(std::move(arguments));
    execution->activations.push_back(next);
    previous = next;
  }
  return execution;
}

std::unique_ptr<Execution> OneDnn::Network::take_execution() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto execution = std::move(idle_.back());
      idle_.pop_back();
      return execution;
    }
  }
  return make_execution();
}

void OneDnn::Network::give_back(std::unique_ptr<Execution> execution) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(execution));
}

void OneDnn::Network::run(Execution& execution, const float* image, float* probabilities) const {
  execution.image.set_data_handle(const_cast<float*>(image));
  execution.probabilities.set_data_handle(probabilities);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].primitive.execute(execution.stream, execution.arguments[i]);
  }
  execution.stream.wait();
}

void OneDnn::Network::infer(const float* images, std::size_t count, float* probabilities) {
  const OmpThreads scope(threads_);
  auto execution = take_execution();
  for (std::size_t i = 0; i < count; ++i) {
    run(*execution, images + i * kImagePixels, probabilities + i * kClasses);
  }
  give_back(std::move(execution));
}

std::vector<Layer> OneDnn::Network::layers(const float* image) {
  const OmpThreads scope(threads_);
  auto execution = take_execution();
  std::vector<float> probabilities(kClasses);
  run(*execution, image, probabilities.data());
  std::vector<Layer> result;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].layer.empty()) continue;
    memory& activation = execution->activations[i];
    const memory::dims dims = steps_[i].to.get_dims();
    const memory::desc plain = f32(dims, dims.size() == 4 ? Tag::nchw : Tag::nc);
    Layer layer{steps_[i].layer, std::vector<float>(plain.get_size() / sizeof(float))};
    memory values(plain, engine_, layer.values.data());
    dnnl::reorder(activation, values).execute(execution->stream, activation, values);
    execution->stream.wait();
    result.push_back(std::move(layer));
  }
  give_back(std::move(execution));
  return result;
}

std::map<std::string, std::string> OneDnn::Network::describe() const {
  const dnnl_version_t& version = *dnnl::version();
  std::map<std::string, std::string> result = {
      {"library", "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) +
                      "." + std::to_string(version.patch)},
      {"isa", isa_name(dnnl::get_effective_cpu_isa())},
      {"fpmath", "strict"},
      {"threads", std::to_string(threads_)},
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const std::string name =
        step.layer.empty() ? "reorder before " + steps_[i + 1].layer : step.layer;
    result[name] = step.implementation;
  }
  return result;
}

OneDnn::OneDnn(const Weights& weights, int threads)
    : network_(std::make_unique<Network>(weights, threads)) {}
OneDnn::~OneDnn() = default;

void OneDnn::infer(const float* images, std::size_t count, float* probabilities) const {
  network_->infer(images, count, probabilities);
}

std::vector<Layer> OneDnn::layers(const float* image) const { return network_->layers(image); }

std::map<std::string, std::string> OneDnn::describe() const { return network_->describe(); }

}  // namespace lenet
