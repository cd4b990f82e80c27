// Makes a backend (bindings/backend.hpp) of a network on a GPU that is written for one image and
// one caller: it opens the GPU, takes turns among threads, goes through a batch, and gives all
// back.
//
// Such a network is a class with
//   Network(const cuda::Session&, const Weights&, Options...);
//   void infer(const float* image, float* probabilities);
// and on_gpu.cpp adds what only the harness asks for:
//   std::vector<Layer> layers_of(Network&, const float* image);
//   std::map<std::string, std::string> facts_of(const Network&);
//   std::map<std::string, double> profile_of(Network&, const float* image, int calls);
// All of it runs within Session::run: on the session's GPU, and alone.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet::cuda {

template <class Network, class... Options>
class OnGpu {
 public:
  /// `threads` is what every backend takes and means nothing to a GPU.
  OnGpu(const Weights& weights, int threads, const Options&... options);

  /// `count` images in, 10 probabilities each out. Threads that call at once take turns.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;
  /// Where the time of one image goes, in microseconds.
  std::map<std::string, double> profile(const float* image, int calls) const;

 private:
  struct Opened {
    Session session;
    std::unique_ptr<Network> network;
  };
  static void close(Opened* opened);

  std::shared_ptr<Opened> opened_{new Opened, close};
};

// Outside of the class, so that only on_gpu.cpp compiles them.

template <class Network, class... Options>
OnGpu<Network, Options...>::OnGpu(const Weights& weights, int /*threads*/,
                                  const Options&... options) {
  opened_->session.run(
      [&] { opened_->network = std::make_unique<Network>(opened_->session, weights, options...); });
}

/// In a forked child, where every CUDA call fails or hangs, the copy is left alone.
template <class Network, class... Options>
void OnGpu<Network, Options...>::close(Opened* opened) {
  if (!opened->session.is_of_this_process()) return;
  try {
    const InContext here(opened->session.context());  // whichever thread this is
    delete opened;
  } catch (const CallFailed&) {
    return;  // a GPU that is lost has taken with it what was on it
  }
}

/// A batch is left only when Python ends, to wait at the next run for ever.
template <class Network, class... Options>
void OnGpu<Network, Options...>::infer(const float* images, std::size_t count,
                                       float* probabilities) const {
  std::size_t done = 0;
  do {
    opened_->session.run([&] {
      for (; done < count && !closing(); ++done) {
        opened_->network->infer(images + done * kImagePixels, probabilities + done * kClasses);
      }
    });
  } while (done < count);
}

template <class Network, class... Options>
std::vector<Layer> OnGpu<Network, Options...>::layers(const float* image) const {
  std::vector<Layer> layers;
  opened_->session.run([&] { layers = layers_of(*opened_->network, image); });
  return layers;
}

template <class Network, class... Options>
std::map<std::string, std::string> OnGpu<Network, Options...>::describe() const {
  std::map<std::string, std::string> facts;
  opened_->session.run([&] { facts = facts_of(*opened_->network); });
  return facts;
}

template <class Network, class... Options>
std::map<std::string, double> OnGpu<Network, Options...>::profile(const float* image,
                                                                  int calls) const {
  std::map<std::string, double> times;
  opened_->session.run([&] { times = profile_of(*opened_->network, image, calls); });
  return times;
}

}  // namespace lenet::cuda
