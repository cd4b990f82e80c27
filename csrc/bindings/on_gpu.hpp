// Makes a backend (bindings/backend.hpp) of a network on a GPU that is written for one caller: it
// opens the GPU, takes turns among threads, goes through a batch, and gives all back.
//
// Such a network is a class with
//   Network(const cuda::Session&, const Weights&, Options...);
//   void infer(const float* image, float* probabilities);
// or, where it can have several images in a call, with
//   static constexpr int kMostImages;
//   Network(const cuda::Session&, const Weights&, Options..., int images = 1);
//   void infer(const float* images, float* probabilities, int count = 1);
// and on_gpu.cpp adds what only the harness asks for:
//   std::vector<Layer> layers_of(Network&, const float* image);
//   std::map<std::string, std::string> facts_of(const Network&);
//   std::map<std::string, double> profile_of(Network&, const float* image, int calls);
// All of it runs within Session::run: on the session's GPU, and alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet::cuda {

/// The caller's weights may be gone when the network for a batch is built.
class WeightsCopy {
 public:
  explicit WeightsCopy(const Weights& from) {
    for (const auto& [parameter, count] : kParameters) {
      values_.insert(values_.end(), from.*parameter, from.*parameter + count);
    }
  }

  Weights view() const {
    Weights weights{};
    const float* next = values_.data();
    for (const auto& [parameter, count] : kParameters) {
      weights.*parameter = next;
      next += count;
    }
    return weights;
  }

 private:
  struct Parameter {
    const float* Weights::* pointer;
    int floats;
  };
  static constexpr Parameter kParameters[] = {
      {&Weights::conv1_weight, kConv1Channels * kKernelSide * kKernelSide},
      {&Weights::conv1_bias, kConv1Channels},
      {&Weights::conv2_weight, kConv2Channels * kConv1Channels * kKernelSide * kKernelSide},
      {&Weights::conv2_bias, kConv2Channels},
      {&Weights::fc1_weight, kFc1Outputs * kFc1Inputs},
      {&Weights::fc1_bias, kFc1Outputs},
      {&Weights::fc2_weight, kClasses * kFc1Outputs},
      {&Weights::fc2_bias, kClasses},
  };

  std::vector<float> values_;
};

/// How many images Network takes in a call.
template <class Network, class = void>
constexpr int kMostImages = 1;
template <class Network>
constexpr int kMostImages<Network, std::void_t<decltype(Network::kMostImages)>> =
    Network::kMostImages;

/// Of a session and what is on it. In a forked child, where every CUDA call fails or hangs, the
/// copy is left alone.
template <class Opened>
void close(Opened* opened) {
  if (!opened->session.is_of_this_process()) return;
  try {
    const InContext here(opened->session.context());  // whichever thread this is
    delete opened;
  } catch (const CallFailed&) {
    return;  // a GPU that is lost has taken with it what was on it
  }
}

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
    std::unique_ptr<Network> network;  // for one image
    std::function<std::unique_ptr<Network>(int images)> build_batch;
    std::unique_ptr<Network> batch;  // for as many images as the last batch had
    int batch_images = 0;
  };
  static void infer_batch(Opened& opened, const float* images, int count, int room,
                          float* probabilities);

  std::shared_ptr<Opened> opened_{new Opened, close<Opened>};
};

// Outside of the class, so that only on_gpu.cpp compiles them.

template <class Network, class... Options>
OnGpu<Network, Options...>::OnGpu(const Weights& weights, int /*threads*/,
                                  const Options&... options) {
  opened_->session.run(
      [&] { opened_->network = std::make_unique<Network>(opened_->session, weights, options...); });
  if constexpr (kMostImages<Network> > 1) {
    opened_->build_batch = [&session = opened_->session, own = WeightsCopy(weights),
                            options...](int images) {
      return std::make_unique<Network>(session, own.view(), options..., images);
    };
  }
}

/// The first batch of its size also builds a network for it.
template <class Network, class... Options>
void OnGpu<Network, Options...>::infer_batch(Opened& opened, const float* images, int count,
                                             int room, float* probabilities) {
  if (opened.batch_images != room) {
    opened.batch_images = 0;
    opened.batch.reset();
    opened.batch = opened.build_batch(room);
    opened.batch_images = room;
  }
  if constexpr (kMostImages<Network> > 1) opened.batch->infer(images, probabilities, count);
}

/// In equal parts of at most kMostImages. When Python ends, the batch stops after a part, and this
/// thread waits for ever at the next run.
template <class Network, class... Options>
void OnGpu<Network, Options...>::infer(const float* images, std::size_t count,
                                       float* probabilities) const {
  constexpr std::size_t kMost = kMostImages<Network>;
  const std::size_t parts = (count + kMost - 1) / kMost;
  const std::size_t room = parts == 0 ? 0 : (count + parts - 1) / parts;
  std::size_t done = 0;
  do {
    opened_->session.run([&] {
      while (done < count && !closing()) {
        const float* from = images + done * kImagePixels;
        float* to = probabilities + done * kClasses;
        const std::size_t now = std::min(room, count - done);
        if (room == 1) {
          opened_->network->infer(from, to);
        } else {
          infer_batch(*opened_, from, static_cast<int>(now), static_cast<int>(room), to);
        }
        done += now;
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
