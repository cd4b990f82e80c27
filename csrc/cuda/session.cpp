#include "cuda/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace lenet::cuda {
namespace {

std::string version(int number) {  // 13020 is 13.2
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string driver_too_old_or_absent() {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) {
    return "no NVIDIA driver is installed here; install one (on Debian: apt install "
           "nvidia-driver) and see that nvidia-smi lists the GPU";
  }
  return "the NVIDIA driver supports CUDA " + version(driver) + " and this build needs " +
         version(CUDART_VERSION / 1000 * 1000) +
         ": update the driver, or build for an older CUDA: LENET_CUDA=12 pip install .";
}

std::string no_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) {
    return "CUDA_VISIBLE_DEVICES=\"" + std::string(visible) +
           "\" leaves no GPU visible; fix it with: unset CUDA_VISIBLE_DEVICES";
  }
  return "the NVIDIA driver finds no GPU in this machine; see what it says with: nvidia-smi";
}

/// For what keeps a driver that is there from starting.
std::string what_starts_cuda(cudaError_t status) {
  switch (status) {
    case cudaErrorInitializationError:
      return "where it was in use before this process was forked, start workers with: "
             "multiprocessing.set_start_method('spawn'); else see what the driver says with: "
             "nvidia-smi";
    case cudaErrorSystemDriverMismatch:
      return "the driver was updated under the running system: restart the machine";
    case cudaErrorSystemNotReady:
      return "GPUs that are joined by NVSwitch need: systemctl start nvidia-fabricmanager";
    case cudaErrorCompatNotSupportedOnDevice:
      return "the libcuda.so.1 of a CUDA compatibility package is not for this GPU: take its "
             "folder out of LD_LIBRARY_PATH";
    default:
      return "where CUDA failed earlier in this process, start a new one; else see what the driver "
             "says with: nvidia-smi";
  }
}

int count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) throw Unavailable(driver_too_old_or_absent());
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    throw Unavailable(no_device());
  }
  if (status != cudaSuccess) {
    throw Unavailable("CUDA cannot start here (" + std::string(cudaGetErrorName(status)) + ": " +
                      cudaGetErrorString(status) + "); " + what_starts_cuda(status));
  }
  return count;
}

int choose_device() {
  const int count = count_devices();
  const char* wanted = std::getenv("LENET_BENCH_GPU");
  if (wanted == nullptr) return 0;
  for (int device = 0; device < count; ++device) {
    if (std::to_string(device) == wanted) return device;
  }
  throw Unavailable("LENET_BENCH_GPU=\"" + std::string(wanted) + "\" names no GPU here, where " +
                    (count == 1 ? "only 0 is" : "0 to " + std::to_string(count - 1) + " are") +
                    "; fix it with: export LENET_BENCH_GPU=0");
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  LENET_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

int compute_capability(int device) {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

void require_supported(int device) {
  constexpr int kOldest = CUDART_VERSION >= 13000 ? 75 : 50;
  const int capability = compute_capability(device);
  if (capability < kOldest) {
    throw Unavailable("GPU " + std::to_string(device) + " has compute capability " +
                      std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
                      ", too old for CUDA " + version(CUDART_VERSION) +
                      (CUDART_VERSION >= 13000
                           ? "; fix it with: LENET_CUDA=12 pip install 'lenet-bench[cuda12]'"
                           : "; it takes a newer GPU"));
  }
}

/// cuDNN for CUDA 12 and for CUDA 13 have one file name and install into one folder.
void require_matching_cudnn() {
  const std::size_t built_for = cudnnGetCudartVersion() / 1000;
  constexpr int kOurs = CUDART_VERSION / 1000;
  if (built_for != kOurs) {
    const std::string ours = std::to_string(kOurs);
    throw Unavailable("the cuDNN found here is built for CUDA " + std::to_string(built_for) +
                      ", not " + ours + "; fix it with: pip uninstall -y nvidia-cudnn-cu" +
                      std::to_string(built_for) +
                      " && pip install --force-reinstall nvidia-cudnn-cu" + ours);
  }
}

int usable_device() {
  const int device = choose_device();
  require_supported(device);
  require_matching_cudnn();
  return device;
}

/// After such a failure no call to CUDA works in this process, whoever makes it.
CallFailed broken(const std::string& reason) {
  return CallFailed(reason + "; CUDA is broken in this process: start a new process");
}

const pid_t loaded_by = getpid();
std::shared_mutex until_the_end;  // held by each run, and then by close_sessions() for ever
std::atomic<bool> is_closing{false};
std::thread::id closer;

}  // namespace

Session::Session()
    : device_(usable_device()), process_(getpid()), context_(primary_context(device_)) {
  const InContext here(context_);
  try {
    stream_ = make_stream();
  } catch (const CallFailed& error) {
    if (cudaDeviceSynchronize() != cudaSuccess) throw broken(error.what());
    throw;
  }
}

int Session::capability() const { return compute_capability(device_); }

bool Session::is_of_this_process() const { return process_ == getpid(); }

Session::Turn Session::enter() const {
  if (!is_of_this_process()) {
    throw Unavailable("this session belongs to process " + std::to_string(process_) +
                      ", from which this one was forked, and CUDA does not survive a fork; start "
                      "workers with: multiprocessing.set_start_method('spawn')");
  }
  if (closing() && std::this_thread::get_id() == closer) {
    throw CallFailed("Python is ending, and the GPU's sessions are closed");
  }
  std::shared_lock<std::shared_mutex> before_the_end(until_the_end);
  std::unique_lock<std::mutex> alone(one_at_a_time_);
  if (!dead_because_.empty()) {
    throw broken("this session died earlier: " + dead_because_);
  }
  return {std::move(before_the_end), std::move(alone), InContext(context_)};
}

/// Half of the work may be on its way: it has to end before the buffers are used again.
void Session::come_to_rest(const std::string& reason) const {
  const cudaError_t status = cudaStreamSynchronize(stream_);
  cudaGetLastError();
  if (status == cudaSuccess) return;
  dead_because_ = reason;
  throw broken(reason);
}

void close_sessions() {
  if (getpid() != loaded_by) return;  // a forked child has no runs of its own to wait for
  closer = std::this_thread::get_id();
  is_closing = true;
  until_the_end.lock();
}

bool closing() { return is_closing; }

bool is_at_rest(cudaStream_t stream) {
  const cudaError_t status = cudaStreamQuery(stream);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // no error, but noted as one
    return false;
  }
  check(status, {"cudaStreamQuery", __FILE__, __LINE__});
  return true;
}

std::map<std::string, std::string> Session::facts(const void* computed) const {
  cudaPointerAttributes where;
  LENET_CHECK(cudaPointerGetAttributes(&where, computed));
  if (where.type != cudaMemoryTypeDevice || where.device != device_) {
    throw CallFailed("what this backend computes does not lie in the memory of GPU " +
                     std::to_string(device_));
  }
  cudaDeviceProp properties;
  LENET_CHECK(cudaGetDeviceProperties(&properties, device_));
  int driver = 0, runtime = 0, cublas_major = 0, cublas_minor = 0;
  LENET_CHECK(cudaDriverGetVersion(&driver));
  LENET_CHECK(cudaRuntimeGetVersion(&runtime));
  LENET_CHECK(cublasGetProperty(MAJOR_VERSION, &cublas_major));
  LENET_CHECK(cublasGetProperty(MINOR_VERSION, &cublas_minor));
  char bus[32] = "";
  LENET_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device_));
  const std::size_t cudnn = cudnnGetVersion();
  const int capability = compute_capability(device_);
  return {
      {"device", properties.name},
      {"device index", std::to_string(device_)},
      {"PCI bus", bus},
      {"proof", "its answers lie in the memory of GPU " + std::to_string(where.device)},
      {"compute capability",
       std::to_string(capability / 10) + "." + std::to_string(capability % 10)},
      {"driver supports CUDA", version(driver)},
      {"CUDA runtime", version(runtime)},
      {"cuDNN", std::to_string(cudnn / 10000) + "." + std::to_string(cudnn / 100 % 100) + "." +
                    std::to_string(cudnn % 100)},
      {"cuBLAS", std::to_string(cublas_major) + "." + std::to_string(cublas_minor)},
  };
}

GraphExec capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  LENET_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Graph graph;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, graph.put());  // or the stream would stay in capture
    cudaGetLastError();                         // which the libraries would take for their own
    throw;
  }
  LENET_CHECK(cudaStreamEndCapture(stream, graph.put()));
  GraphExec executable;
  LENET_CHECK(cudaGraphInstantiateWithFlags(executable.put(), graph, 0));
  return executable;
}

std::map<std::string, double> profile(cudaStream_t stream, const Stages& stages, bool as_graph,
                                      int calls) {
  const std::array<Event, 4> events = {make_event(), make_event(), make_event(), make_event()};
  const unsigned flags = as_graph ? cudaEventRecordExternal : cudaEventRecordDefault;
  const auto enqueue = [&] {
    LENET_CHECK(cudaEventRecordWithFlags(events[0], stream, flags));
    stages.copy_in();
    LENET_CHECK(cudaEventRecordWithFlags(events[1], stream, flags));
    stages.compute();
    LENET_CHECK(cudaEventRecordWithFlags(events[2], stream, flags));
    stages.copy_out();
    LENET_CHECK(cudaEventRecordWithFlags(events[3], stream, flags));
  };
  GraphExec graph;
  if (as_graph) graph = capture(stream, enqueue);

  constexpr const char* kNames[] = {"h2d_us", "kernels_us", "d2h_us"};
  std::map<std::string, std::vector<double>> samples;
  for (int call = 0; call < calls; ++call) {
    using Clock = std::chrono::steady_clock;
    using Microseconds = std::chrono::duration<double, std::micro>;
    const auto start = Clock::now();
    if (as_graph) {
      LENET_CHECK(cudaGraphLaunch(graph, stream));
    } else {
      enqueue();
    }
    const auto enqueued = Clock::now();
    LENET_CHECK(cudaStreamSynchronize(stream));
    const auto done = Clock::now();
    samples["enqueue_us"].push_back(Microseconds(enqueued - start).count());
    samples["total_us"].push_back(Microseconds(done - start).count());
    for (int stage = 0; stage < 3; ++stage) {
      float milliseconds = 0;
      LENET_CHECK(cudaEventElapsedTime(&milliseconds, events[stage], events[stage + 1]));
      samples[kNames[stage]].push_back(1000.0 * milliseconds);
    }
  }
  std::map<std::string, double> medians;
  for (auto& [name, values] : samples) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    medians[name] = values[values.size() / 2];
  }
  return medians;
}

}  // namespace lenet::cuda
