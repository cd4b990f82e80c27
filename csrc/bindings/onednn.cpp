// lenet_bench._onednn
#include "cpu/onednn.hpp"

#include <omp.h>

#include <algorithm>
#include <mutex>

#include "bindings/backend.hpp"
#include "bindings/network.hpp"
#include "bindings/one_at_a_time.hpp"
#include "networks/onednn.hpp"

namespace lenet {
namespace {

/// oneDNN splits its work by the OpenMP setting of the calling thread, which is the caller's own
/// and so is put back.
class KeptOmpThreads {
 public:
  KeptOmpThreads() = default;
  ~KeptOmpThreads() { omp_set_num_threads(before_); }
  KeptOmpThreads(const KeptOmpThreads&) = delete;
  KeptOmpThreads& operator=(const KeptOmpThreads&) = delete;

 private:
  int before_ = omp_get_max_threads();
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

std::map<std::string, std::string> library_facts(int threads) {
  const dnnl_version_t& version = *dnnl::version();
  return {
      {"library", "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) +
                      "." + std::to_string(version.patch)},
      {"isa", isa_name(dnnl::get_effective_cpu_isa())},
      {"fpmath", "strict"},
      {"threads", std::to_string(threads)},
  };
}

/// The output of a step in Caffe's layout.
std::vector<float> plain_output(const OneDnn::Step& step) {
  dnnl::memory output = step.arguments.at(DNNL_ARG_DST);
  const dnnl::memory::dims dims = output.get_desc().get_dims();
  const auto tag = dims.size() == 4 ? dnnl::memory::format_tag::nchw : dnnl::memory::format_tag::nc;
  const dnnl::memory::desc plain(dims, dnnl::memory::data_type::f32, tag);
  std::vector<float> values(plain.get_size() / sizeof(float));
  const dnnl::engine engine = output.get_engine();
  dnnl::memory result(plain, engine, values.data());
  dnnl::stream stream(engine);
  dnnl::reorder(output, result).execute(stream, output, result);
  stream.wait();
  return values;
}

}  // namespace

std::vector<Layer> layers_of(OneDnn& network, const float* image) {
  float probabilities[kClasses];
  network.infer(image, probabilities);
  std::vector<Layer> result;
  for (const OneDnn::Step& step : network.steps()) {
    if (!step.layer.empty()) result.push_back({step.layer, plain_output(step)});
  }
  return result;
}

std::map<std::string, std::string> facts_of(const OneDnn& network) {
  auto result = library_facts(network.threads());
  std::string before;  // the reorder that the next layer needs
  for (const OneDnn::Step& step : network.steps()) {
    if (step.layer.empty()) {
      before = step.implementation;
      continue;
    }
    result[step.layer] = step.implementation;
    if (!before.empty()) result["reorder before " + step.layer] = std::exchange(before, {});
  }
  return result;
}

/// Any network, one caller at a time.
class BuiltOneDnn {
 public:
  BuiltOneDnn(const networks::Graph& graph, int threads) : network_(make(graph, threads)) {}

  std::int64_t inputs() const { return network_.inputs(); }
  std::int64_t answers() const { return network_.answers(); }

  void infer(const float* input, float* answer) const {
    const std::lock_guard lock(mutex_);
    const KeptOmpThreads scope;
    network_.infer(input, answer);
  }

  std::map<std::string, std::string> describe() const {
    auto result = library_facts(network_.threads());
    for (const auto& [kind, names] : network_.implementations()) {
      for (const std::string& name : names)
        result[kind] += (result[kind].empty() ? "" : ", ") + name;
    }
    return result;
  }

 private:
  static networks::AnyOnOneDnn make(const networks::Graph& graph, int threads) {
    const KeptOmpThreads scope;
    return networks::AnyOnOneDnn(graph, threads);
  }

  mutable std::mutex mutex_;
  mutable networks::AnyOnOneDnn network_;
};

/// Some of LeNet's layers, or trivial operations on ten floats: what `why` takes oneDNN apart by.
class OneDnnProbe {
 public:
  OneDnnProbe(const Weights& weights, int threads, const std::vector<std::string>& layers,
              int trivial)
      : network_(weights, threads) {
    bool kept = false;  // a reorder goes with the layer that needs it
    const std::vector<OneDnn::Step>& steps = network_.steps();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (!step->layer.empty()) {
        kept = std::find(layers.begin(), layers.end(), step->layer) != layers.end();
      }
      if (kept) steps_.insert(steps_.begin(), *step);
    }
    const dnnl::memory::desc ten({1, kClasses}, dnnl::memory::data_type::f32,
                                 dnnl::memory::format_tag::ab);
    dnnl::memory from(ten, engine_);
    for (; trivial > 0; --trivial) {
      dnnl::memory to(ten, engine_);
      const dnnl::eltwise_forward::primitive_desc description(
          engine_, dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_tanh, ten, ten);
      steps_.push_back(
          {"", "", dnnl::primitive(description.get()), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}}});
      from = to;
    }
  }

  void infer(const float* image, std::size_t /*count*/, float* probabilities) const {
    const KeptOmpThreads scope;
    omp_set_num_threads(network_.threads());
    dnnl::memory in = network_.steps().front().arguments.at(DNNL_ARG_SRC);
    dnnl::memory out = network_.steps().back().arguments.at(DNNL_ARG_DST);
    in.set_data_handle(const_cast<float*>(image));
    out.set_data_handle(probabilities);
    for (const OneDnn::Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
  }

  std::size_t operations() const { return steps_.size(); }

 private:
  OneDnn network_;
  dnnl::engine engine_ = network_.steps().front().arguments.at(DNNL_ARG_SRC).get_engine();
  mutable dnnl::stream stream_{engine_};
  std::vector<OneDnn::Step> steps_;
};

}  // namespace lenet

PYBIND11_MODULE(_onednn, module, pybind11::mod_gil_not_used()) {
  dnnl::set_verbose(0);
  using OneDnn = lenet::bindings::OneAtATime<lenet::OneDnn, lenet::KeptOmpThreads>;
  lenet::bindings::bind<OneDnn>(module, "OneDnn").def("let_all_in", &OneDnn::let_all_in);
  lenet::bindings::bind_built<lenet::BuiltOneDnn>(module, "BuiltOneDnn");

  namespace py = pybind11;
  using Probe = lenet::OneDnnProbe;
  using lenet::bindings::weights_from;
  py::class_<Probe>(module, "OneDnnProbe")
      .def(py::init([](const py::object& weights, int threads,
                       const std::vector<std::string>& layers, int trivial) {
             return std::make_unique<Probe>(weights_from(weights), threads, layers, trivial);
           }),
           py::arg("weights"), py::arg("threads"), py::arg("layers"), py::arg("trivial"))
      .def("infer", &lenet::bindings::infer<Probe>, py::arg("images"))
      .def_property_readonly("operations", &Probe::operations);
}
