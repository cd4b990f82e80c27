// The part of ONNX Runtime's C API that onnxruntime.cpp calls, for its wheel brings no headers.
//
// OrtApi is a struct of functions that only ever grows at its end: what stood at a place in version
// 3 of the API stands there in every later one, and the library is asked for that version. The
// names and types are those of ONNX Runtime's onnxruntime_c_api.h, which can take this file's
// place; the functions before, between and after these are places without a name.
#pragma once

#include <cstddef>
#include <cstdint>

#define ORT_API_VERSION 3  // AddFreeDimensionOverrideByName is the last function of it

struct OrtStatus;
struct OrtEnv;
struct OrtSessionOptions;
struct OrtSession;
struct OrtRunOptions;
struct OrtMemoryInfo;
struct OrtValue;

enum OrtLoggingLevel : int { ORT_LOGGING_LEVEL_WARNING = 2 };
enum OrtAllocatorType : int { OrtArenaAllocator = 1 };
enum OrtMemType : int { OrtMemTypeDefault = 0 };
enum ONNXTensorElementDataType : int { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1 };

struct OrtApi {
  using Unnamed = void (*)();

  Unnamed from_0[2];
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(OrtLoggingLevel, const char* logid, OrtEnv**);
  Unnamed from_4[4];
  OrtStatus* (*CreateSessionFromArray)(const OrtEnv*, const void* model, std::size_t bytes,
                                       const OrtSessionOptions*, OrtSession**);
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count,
                    const char* const* output_names, std::size_t output_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions**);
  Unnamed from_11[13];
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions*, int);
  OrtStatus* (*SetInterOpNumThreads)(OrtSessionOptions*, int);
  Unnamed from_26[23];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, std::size_t bytes,
                                               const std::int64_t* shape, std::size_t dimensions,
                                               ONNXTensorElementDataType, OrtValue**);
  Unnamed from_50[19];
  OrtStatus* (*CreateCpuMemoryInfo)(OrtAllocatorType, OrtMemType, OrtMemoryInfo**);
  Unnamed from_70[22];
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  Unnamed from_97[3];
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
  Unnamed from_101[23];
  OrtStatus* (*AddFreeDimensionOverrideByName)(OrtSessionOptions*, const char* name, std::int64_t);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(std::uint32_t version);
  const char* (*GetVersionString)();
};

extern "C" const OrtApiBase* OrtGetApiBase();

#define PLACE(function) (offsetof(OrtApi, function) / sizeof(OrtApi::Unnamed))
static_assert(PLACE(Run) == 9 && PLACE(SetIntraOpNumThreads) == 24);
static_assert(PLACE(CreateTensorWithDataAsOrtValue) == 49 && PLACE(CreateCpuMemoryInfo) == 69);
static_assert(PLACE(ReleaseEnv) == 92 && PLACE(ReleaseSessionOptions) == 100);
static_assert(PLACE(AddFreeDimensionOverrideByName) == 124);
#undef PLACE
