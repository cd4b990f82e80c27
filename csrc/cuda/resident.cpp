#include "cuda/resident.hpp"

#include <utility>
#include <vector>

#include "cuda/errors.hpp"
#include "cuda/words.hpp"

namespace lenet::cuda {

using namespace gpu;

Resident::Resident(cudaStream_t stream, std::function<void(const Launch&)> start)
    : stream_(stream), start_(std::move(start)) {
  mailbox_ = {};
}

/// Before the memory goes that the kernel polls: not every way of freeing waits for it.
Resident::~Resident() {
  post(std::vector<float>(kImagePixels).data(), kLeave);
  cudaStreamSynchronize(stream_);
}

Resident::Answer Resident::call(const float* pixels, Order order) {
  post(pixels, order);
  const unsigned before = launches_;
  Answer answer;
  const auto done = [&] {
    const bool gone = __atomic_load_n(&mailbox_.ended, __ATOMIC_ACQUIRE) == launches_;
    // Second: what it answered before it went is there then.
    if (read_words(mailbox_.answer, answer.of, kClasses + kTimes, request_ * kOrders)) return true;
    if (gone && launches_ != before) {
      throw CallFailed("the resident kernel ended and left no answer");
    }
    if (gone) launch();
    return false;
  };
  spin_until(done, [&] { require_running(); });
  return answer;
}

void Resident::leave() {
  post(std::vector<float>(kImagePixels).data(), kLeave);
  LENET_CHECK(cudaStreamSynchronize(stream_));
}

/// The rows that block 0 reads go last: when it has seen them the others' are there, even if this
/// process is stopped in between, and no block waits for ever.
void Resident::post(const float* pixels, Order order) {
  constexpr int kLast = 2 * kImageSide;
  const Stamp stamp = ++request_ * kOrders + order;
  write_words(mailbox_.image + kLast, pixels + kLast, kImagePixels - kLast, stamp);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  write_words(mailbox_.image, pixels, kLast, stamp);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

/// After an earlier kernel has wholly left, since both are on one stream.
void Resident::launch() {
  void* address = nullptr;
  LENET_CHECK(cudaHostGetDevicePointer(&address, &mailbox_, 0));
  start_({static_cast<Mailbox*>(address), request_, launches_ + 1});
  ++launches_;
}

/// A kernel that failed answers nothing: once in a while the stream is asked.
void Resident::require_running() const {
  if (is_at_rest(stream_) && __atomic_load_n(&mailbox_.ended, __ATOMIC_ACQUIRE) != launches_) {
    throw CallFailed("the resident kernel stopped without a word");
  }
}

}  // namespace lenet::cuda
