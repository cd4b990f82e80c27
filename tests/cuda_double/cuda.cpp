// The double of libcuda, the driver: what lenet_bench asks it itself, and what cuDNN's libraries
// want to find in it when they are loaded. (Without <cuda.h>, so that these may be empty.)
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

namespace {

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return setting("CUDA_DOUBLE_DEVICES", 1) > 0 ? 0 : cudaErrorNoDevice; }

int cuDriverGetVersion(int* version) {
  *version = setting("CUDA_DOUBLE_DRIVER", CUDART_VERSION);
  return 0;
}

int cuDeviceGetCount(int* count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  *count = visible != nullptr && *visible == 0 ? 0 : setting("CUDA_DOUBLE_DEVICES", 1);
  return 0;
}

int cuDeviceGetName(char* name, int room, int) {
  const char text[] = "a double of a GPU";
  for (int i = 0; i < room && i < int(sizeof text); ++i) name[i] = text[i];
  return 0;
}

int cuDeviceGetPCIBusId(char* bus, int room, int) {
  std::strncpy(bus, "0000:01:00.0", room);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = setting("CUDA_DOUBLE_CAPABILITY", 90);
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return 0;
}

// Never called, since nothing is launched through the driver.
void cuGetErrorString() {}
void cuModuleGetFunction() {}
void cuModuleLoadData() {}
void cuModuleUnload() {}
void cuTensorMapEncodeIm2col() {}
void cuTensorMapEncodeTiled() {}

}  // extern "C"
