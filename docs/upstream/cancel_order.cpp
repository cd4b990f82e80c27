// Put before TensorFlow's own: says when StartCancel begins and ends, and with CANCEL_FIRST=1 runs
// the callbacks after the flag is set in place of before.
//
//   g++ -std=c++17 -O2 -shared -fPIC -o cancel_order.so cancel_order.cpp
//   LD_PRELOAD=./cancel_order.so TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=model=2 \
//     python tf_data_wait.py 1 tuned 3
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace tsl {
class CancellationManager {
 public:
  void StartCancel();
  bool RegisterCallback(long token, std::function<void()> callback);
  bool DeregisterCallback(long token);
  bool TryDeregisterCallback(long token);
};
}  // namespace tsl

namespace {

using tsl::CancellationManager;

std::mutex mutex;
std::map<std::pair<CancellationManager*, long>, std::function<void()>> later;

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool cancel_first() {
  static const bool asked = getenv("CANCEL_FIRST") != nullptr;
  return asked;
}

void say(const char* what) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  fprintf(stderr, "%02d:%02d:%02d.%06ld StartCancel %s\n", parts.tm_hour, parts.tm_min,
          parts.tm_sec, now.tv_nsec / 1000, what);
}

void forget(CancellationManager* manager, long token) {
  const std::lock_guard lock(mutex);
  later.erase({manager, token});
}

}  // namespace

// An experiment: a manager that is cancelled by another way than StartCancel runs no callback.
namespace tsl {

bool CancellationManager::RegisterCallback(long token, std::function<void()> callback) {
  static const auto original = next<bool (*)(CancellationManager*, long, std::function<void()>)>(
      "_ZN3tsl19CancellationManager16RegisterCallbackElSt8functionIFvvEE");
  if (!cancel_first()) return original(this, token, std::move(callback));
  {
    const std::lock_guard lock(mutex);
    later[{this, token}] = std::move(callback);
  }
  if (original(this, token, [] {})) return true;
  forget(this, token);  // it is cancelled already
  return false;
}

bool CancellationManager::DeregisterCallback(long token) {
  static const auto original = next<bool (*)(CancellationManager*, long)>(
      "_ZN3tsl19CancellationManager18DeregisterCallbackEl");
  forget(this, token);
  return original(this, token);
}

bool CancellationManager::TryDeregisterCallback(long token) {
  static const auto original = next<bool (*)(CancellationManager*, long)>(
      "_ZN3tsl19CancellationManager21TryDeregisterCallbackEl");
  forget(this, token);
  return original(this, token);
}

void CancellationManager::StartCancel() {
  static const auto original = next<void (*)(CancellationManager*)>(
      "_ZN3tsl19CancellationManager11StartCancelEv");
  say("begins");
  original(this);
  std::map<long, std::function<void()>> due;
  {
    const std::lock_guard lock(mutex);
    for (auto at = later.begin(); at != later.end();) {
      if (at->first.first == this) {
        due[at->first.second] = std::move(at->second);
        at = later.erase(at);
      } else {
        ++at;
      }
    }
  }
  for (auto& [token, callback] : due) callback();
  say("ends");
}

}  // namespace tsl
