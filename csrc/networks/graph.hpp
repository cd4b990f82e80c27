// Any network, as Python describes it (python/lenet_bench/networks/graph.py): what the builders in
// C++ read. They are never counted or shown as what a user writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lenet::networks {

using Shape = std::vector<std::int64_t>;

std::int64_t floats_of(const Shape& shape);

/// A layer that a library does not have (Python's errors.Unsupported): a result, and no failure.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Borrowed: a builder keeps a copy.
struct Parameter {
  Shape shape;
  const float* values;
};

struct Layer {
  std::string name, kind;
  std::vector<std::size_t> inputs;  // the numbers of the layers that it reads
  std::int64_t side = 1, stride = 1, pad = 0, heads = 1;
  std::vector<Parameter> parameters;  // in PyTorch's layout
  Shape shape = {};  // of its output: (channels, rows, columns), (tokens, floats) or (floats)
};

/// Layers in an order in which they can be computed: the first is the input, the last the answer.
class Graph {
 public:
  explicit Graph(const Shape& input);

  /// Finds the shape of its output. Raises std::invalid_argument, a sentence, for a layer that
  /// cannot be.
  void add(Layer layer);

  const std::vector<Layer>& layers() const { return layers_; }
  const Layer& operator[](std::size_t number) const { return layers_[number]; }
  /// The layers that read this one, twice where one reads it twice.
  std::vector<std::size_t> readers(std::size_t number) const;

 private:
  std::vector<Layer> layers_;
};

/// A layer, and what libraries compute in the same call: an addition and a ReLU after it.
struct Step {
  std::size_t layer;
  std::size_t added;  // the layer whose output is added, which nothing reads later; 0 for none
  bool relu;
  std::size_t output;  // the layer whose output it has in the end
};

/// In the order of the layers.
std::vector<Step> steps_of(const Graph& graph);

/// Memory that is used again when nobody holds it any more.
template <class Block>
class Pool {
 public:
  /// The smallest free block with so much room, or what `make` makes.
  template <class Make>
  std::shared_ptr<Block> take(std::size_t room, const Make& make) {
    Kept* best = nullptr;
    for (Kept& kept : blocks_) {
      const bool fits = kept.block.use_count() == 1 && kept.room >= room;
      if (fits && (best == nullptr || kept.room < best->room)) best = &kept;
    }
    if (best != nullptr) return best->block;
    blocks_.push_back({room, std::make_shared<Block>(make(room))});
    return blocks_.back().block;
  }

 private:
  struct Kept {
    std::size_t room;
    std::shared_ptr<Block> block;
  };
  std::vector<Kept> blocks_;
};

}  // namespace lenet::networks
