// The double of libnvidia-ml: one GPU that draws 100 W and runs at 1980 MHz. What
// CUDA_DOUBLE_NVML names ("energy", "all") it does not support, as some GPUs do not. NVIDIA's
// header holds it to NVIDIA's names, arguments and layouts, and with it whoever asks.
#include <nvml.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

char a_gpu;
const auto gpu = reinterpret_cast<nvmlDevice_t>(&a_gpu);

bool supports(const char* what) {
  const char* lacking = std::getenv("CUDA_DOUBLE_NVML");
  return lacking == nullptr ||
         (std::strcmp(lacking, what) != 0 && std::strcmp(lacking, "all") != 0);
}

/// Writes an answer, where there is one to a question about our GPU.
template <class T>
nvmlReturn_t answer(const char* what, nvmlDevice_t device, T* to, T value) {
  if (device != gpu) return NVML_ERROR_INVALID_ARGUMENT;
  if (!supports(what)) return NVML_ERROR_NOT_SUPPORTED;
  *to = value;
  return NVML_SUCCESS;
}

std::vector<unsigned> children_of(unsigned process) {
  const std::string number = std::to_string(process);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  return {std::istream_iterator<unsigned>(file), {}};
}

/// Who asks holds nothing: the process that it measures does, which has a keeper in between.
std::vector<unsigned> measured_processes() {
  std::vector<unsigned> found;
  for (const unsigned keeper : children_of(getpid())) {
    for (const unsigned child : children_of(keeper)) found.push_back(child);
  }
  return found;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInitWithFlags(unsigned) { return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = gpu;
  return index == 0 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_t* device) {
  *device = gpu;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned room) {
  if (device != gpu) return NVML_ERROR_INVALID_ARGUMENT;
  std::strncpy(name, "a double of a GPU", room);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return answer<unsigned long long>("energy", device, millijoules, 100ull * ms);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return answer("power", device, milliwatts, 100'000u);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return answer("clock", device, mhz, type == NVML_CLOCK_SM ? 1980u : 0u);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* processes) {
  const auto children = measured_processes();
  if (*count < children.size() + 1) return NVML_ERROR_INSUFFICIENT_SIZE;
  *processes++ = {1, 1ull << 40, 0, 0};
  for (const unsigned child : children) *processes++ = {child, 512ull << 20, 0, 0};
  return answer("memory", device, count, unsigned(children.size() + 1));
}

}  // extern "C"
