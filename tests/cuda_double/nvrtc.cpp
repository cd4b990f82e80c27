// The double of libnvrtc: NVIDIA's own, which gives out its PTX where machine code is asked for,
// since PTX is what the double's GPU runs.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

template <class Function>
Function* real(Function*, const char* name) {
  static void* const library = dlopen(NVRTC, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// The text, or what the folder CUDA_DOUBLE_KERNELS has under this name: a fault, say.
std::string planted(const char* text, const std::string& name) {
  const char* folder = std::getenv("CUDA_DOUBLE_KERNELS");
  if (folder == nullptr) return text;
  std::ifstream file(std::string(folder) + "/" + name.substr(name.rfind('/') + 1));
  return file ? std::string{std::istreambuf_iterator<char>(file), {}} : text;
}

bool machine_code() { return std::getenv("CUDA_DOUBLE_MACHINE_CODE") != nullptr; }

}  // namespace

#define REAL(name) real(&name, #name)

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return REAL(nvrtcVersion)(major, minor); }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return REAL(nvrtcGetNumSupportedArchs)(count); }
nvrtcResult nvrtcGetSupportedArchs(int* archs) { return REAL(nvrtcGetSupportedArchs)(archs); }
const char* nvrtcGetErrorString(nvrtcResult status) { return REAL(nvrtcGetErrorString)(status); }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  const std::string own = planted(text, name);
  std::vector<std::string> others;
  std::vector<const char*> pointers;
  for (int i = 0; i < count; ++i) others.push_back(planted(headers[i], names[i]));
  for (const std::string& other : others) pointers.push_back(other.c_str());
  return REAL(nvrtcCreateProgram)(program, own.c_str(), name, count, pointers.data(), names);
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return REAL(nvrtcCompileProgram)(program, count, options);
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  return REAL(nvrtcDestroyProgram)(program);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetProgramLogSize)(program, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return REAL(nvrtcGetProgramLog)(program, log);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetPTXSize)(program, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text) {
  return REAL(nvrtcGetPTX)(program, text);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return machine_code() ? REAL(nvrtcGetCUBINSize)(program, size) : nvrtcGetPTXSize(program, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return machine_code() ? REAL(nvrtcGetCUBIN)(program, code) : nvrtcGetPTX(program, code);
}

}  // extern "C"
