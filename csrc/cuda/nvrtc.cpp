#include "cuda/nvrtc.hpp"

#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

namespace fs = std::filesystem;

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

std::string hex(std::uint64_t number) {
  std::string digits(16, '0');
  for (int i = 15; i >= 0; --i, number >>= 4) digits[i] = "0123456789abcdef"[number & 15];
  return digits;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  LENET_CHECK(nvrtcVersion(&major, &minor));
  return std::to_string(major) + "." + std::to_string(minor);
}

/// Which build of that version: NVRTC does not tell its patch, so its file does, by size and time.
std::string compiler_build() {
  Dl_info where{};
  struct stat file{};
  if (dladdr(reinterpret_cast<void*>(&nvrtcVersion), &where) == 0) return "";
  if (stat(where.dli_fname, &file) != 0) return "";
  return std::to_string(file.st_size) + "," + std::to_string(file.st_mtim.tv_sec) + "," +
         std::to_string(file.st_mtim.tv_nsec);
}

/// What else the compiler is told, beside the GPU. Arithmetic stays as IEEE has it.
constexpr const char* kOptions[] = {"--std=c++17", "--extra-device-vectorization"};

fs::path cache_folder;  // which Python has checked; empty where nothing can be kept

/// A file a source, compiler, options and GPU; empty where it cannot be kept.
fs::path cache_file(const KernelSource& source, int capability) {
  if (cache_folder.empty()) return {};
  std::string key = compiler_version() + compiler_build() + source.text;
  for (const KernelSource& header : kKernelHeaders) key += header.text;
  for (const char* option : kOptions) key += option;
  return cache_folder / ("sm_" + std::to_string(capability) + "-" + hex(fnv1a(key)) + ".cubin");
}

constexpr std::size_t kChecksum = 16;  // its digits stand in front of the machine code

bool is_ours_alone(const fs::path& path) {
  struct stat entry{};
  return lstat(path.c_str(), &entry) == 0 && !S_ISLNK(entry.st_mode) && entry.st_uid == geteuid() &&
         (entry.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Nothing where the file is absent, cut off or damaged, which the checksum shows; or where another
/// user could have written it, since machine code runs with our rights.
std::vector<char> read(const fs::path& path) {
  if (!is_ours_alone(path)) return {};
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (content.size() <= kChecksum) return {};
  if (content.substr(0, kChecksum) != hex(fnv1a(content.substr(kChecksum)))) return {};
  return {content.begin() + kChecksum, content.end()};
}

/// The disk may be full: then it is compiled again next time.
void write(const fs::path& path, const std::vector<char>& code) {
  std::string temporary = path.parent_path() / ".XXXXXX";
  const int created = mkstemp(temporary.data());  // which nobody else may write
  if (created < 0) return;
  const std::string machine_code(code.begin(), code.end());
  const std::string content = hex(fnv1a(machine_code)) + machine_code;
  const bool whole =
      ::write(created, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(created) == 0;
  close(created);
  std::error_code ignored;
  if (whole) {
    fs::rename(temporary, path, ignored);
  } else {
    fs::remove(temporary, ignored);
  }
}

}  // namespace

void keep_kernels_in(const std::string& folder) { cache_folder = folder; }

std::vector<int> known_capabilities() {
  int count = 0;
  LENET_CHECK(nvrtcGetNumSupportedArchs(&count));
  std::vector<int> known(count);
  LENET_CHECK(nvrtcGetSupportedArchs(known.data()));
  return known;
}

std::vector<char> compile_kernels(const KernelSource& source, int capability) {
  std::vector<const char*> texts, names;
  for (const KernelSource& header : kKernelHeaders) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  nvrtcProgram program = nullptr;
  LENET_CHECK(nvrtcCreateProgram(&program, source.text, source.name, static_cast<int>(texts.size()),
                                 texts.data(), names.data()));
  const auto destroy = [](nvrtcProgram* owned) { nvrtcDestroyProgram(owned); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> owner(&program, destroy);

  const std::string target = "--gpu-architecture=sm_" + std::to_string(capability);
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(target.c_str());
  if (nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) !=
      NVRTC_SUCCESS) {
    std::size_t length = 0;
    LENET_CHECK(nvrtcGetProgramLogSize(program, &length));
    std::string log(length, ' ');
    LENET_CHECK(nvrtcGetProgramLog(program, log.data()));
    throw CallFailed("nvrtcCompileProgram failed on " + std::string(source.name) + " for sm_" +
                     std::to_string(capability) + ": " + log);
  }
  std::size_t size = 0;
  LENET_CHECK(nvrtcGetCUBINSize(program, &size));
  std::vector<char> code(size);
  LENET_CHECK(nvrtcGetCUBIN(program, code.data()));
  return code;
}

std::vector<char> kernels_for(const KernelSource& source, int capability) {
  const std::vector<int> known = known_capabilities();
  if (std::find(known.begin(), known.end(), capability) == known.end()) {
    throw Unavailable("NVRTC " + compiler_version() + " cannot compile for compute capability " +
                      std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
                      "; fix it with: pip install --upgrade nvidia-cuda-nvrtc" +
                      (CUDART_VERSION < 13000 ? "-cu12" : ""));
  }
  const fs::path path = cache_file(source, capability);
  std::vector<char> code = read(path);
  if (code.empty()) {
    code = compile_kernels(source, capability);
    if (!path.empty()) write(path, code);
  }
  return code;
}

}  // namespace lenet::cuda
