// The double of libnvidia-ml: one GPU that draws 100 W and runs at 1980 MHz. What
// CUDA_DOUBLE_NVML names ("energy", "all") it does not support, as some GPUs do not.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6;
int gpu;

bool supports(const char* what) {
  const char* lacking = std::getenv("CUDA_DOUBLE_NVML");
  return lacking == nullptr ||
         (std::strcmp(lacking, what) != 0 && std::strcmp(lacking, "all") != 0);
}

/// Writes an answer, where there is one to a question about our GPU.
template <class T>
int answer(const char* what, const void* device, T* to, T value) {
  if (device != &gpu) return kInvalidArgument;
  if (!supports(what)) return kNotSupported;
  *to = value;
  return kSuccess;
}

}  // namespace

extern "C" {

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpu;
  return index == 0 ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = &gpu;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? kSuccess : kNotFound;
}

int nvmlDeviceGetName(void* device, char* name, unsigned room) {
  if (device != &gpu) return kInvalidArgument;
  std::strncpy(name, "a double of a GPU", room);
  return kSuccess;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return answer<unsigned long long>("energy", device, millijoules, 100ull * ms);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return answer("power", device, milliwatts, 100'000u);
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  return answer("clock", device, mhz, type == 1 ? 1980u : 0u);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  if (*count < 2) return kInvalidArgument;
  processes[0] = {1, 1ull << 40, 0, 0};
  processes[1] = {unsigned(getpid()), 512ull << 20, 0, 0};
  return answer("memory", device, count, 2u);
}

}  // extern "C"
