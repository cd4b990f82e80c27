// Pictures, and what is computed of their values. Values are rounded to float where NumPy and
// Pillow do it, so that all compilers give the same (they may not fuse a product and a sum).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace lenet::images {

using Values = std::vector<float>;

/// Row by row, the channels of a pixel side by side: grey (1), colour (3), or colour and alpha (4).
struct Picture {
  int height = 0;
  int width = 0;
  int channels = 1;
  Values values;

  Picture() = default;
  Picture(int rows, int columns, int channels_each = 1)
      : height(rows),
        width(columns),
        channels(channels_each),
        values(static_cast<std::size_t>(rows) * columns * channels_each) {}

  int longer() const { return height > width ? height : width; }
  int shorter() const { return height < width ? height : width; }
  std::size_t pixels() const { return static_cast<std::size_t>(height) * width; }
};

/// Bottom and right are exclusive.
struct Box {
  int top, bottom, left, right;

  int height() const { return bottom - top; }
  int width() const { return right - left; }
  int longer() const { return height() > width() ? height() : width(); }
};

constexpr int kSmall = 96;  // pixels of the longer side: enough to judge contrast and light

/// What `make` makes of each value and its index.
template <class Make>
Picture mapped(const Picture& picture, Make make) {
  Picture out(picture.height, picture.width, picture.channels);
  for (std::size_t n = 0; n < out.values.size(); ++n) out.values[n] = make(picture.values[n], n);
  return out;
}

/// The values that `is` holds for, of their value and index.
template <class Is>
Values chosen(const Values& values, Is is) {
  Values out;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (is(values[n], n)) out.push_back(values[n]);
  }
  return out;
}

/// The share of the values that `is` holds for.
template <class Container, class Is>
double share(const Container& values, Is is) {
  std::size_t count = 0;
  for (const auto value : values) count += is(value);
  return static_cast<double>(count) / static_cast<double>(values.size());
}

/// Where `is` holds; nothing where it holds nowhere.
template <class Container, class Is>
std::optional<Box> bounds(int height, int width, const Container& values, Is is) {
  Box box{height, 0, width, 0};
  for (int y = 0, at = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x, ++at) {
      if (!is(values[at])) continue;
      if (y < box.top) box.top = y;
      box.bottom = y + 1;
      if (x < box.left) box.left = x;
      if (x + 1 > box.right) box.right = x + 1;
    }
  }
  if (box.bottom == 0) return std::nullopt;
  return box;
}

/// The outermost pixels, the corners twice: top, bottom, left, right.
template <class Value>
std::vector<Value> rim(int height, int width, int channels, const std::vector<Value>& values) {
  std::vector<Value> out;
  const auto take = [&](int y, int x) {
    const auto from = values.begin() + (static_cast<std::size_t>(y) * width + x) * channels;
    out.insert(out.end(), from, from + channels);
  };
  for (const int y : {0, height - 1}) {
    for (int x = 0; x < width; ++x) take(y, x);
  }
  for (const int x : {0, width - 1}) {
    for (int y = 0; y < height; ++y) take(y, x);
  }
  return out;
}
inline Values rim(const Picture& picture) {
  return rim(picture.height, picture.width, picture.channels, picture.values);
}

/// To the nearest integer, halves to even ones.
int rounded(double value);

template <class Value>
Value median(std::vector<Value> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double sum(const Values& values);
float mean(const Values& values);
float deviation(const Values& values);
/// Between two values they are interpolated.
std::vector<double> quantiles(Values values, const std::vector<double>& wanted);

/// Equal bins between two values, and how many values each holds.
struct Histogram {
  Values edges;
  std::vector<double> counts;
};
Histogram histogram(const Values& values, int bins, float first, float last);
Histogram histogram(const Values& values, int bins);  // from the least to the largest value
/// The mean of the upper of its two classes, split where they differ most.
double otsu(const Histogram& histogram);

Picture channel(const Picture& picture, int which);
Picture clipped(const Picture& picture);  // to 0..1
/// As slices of an array: what lies outside of the picture is left out.
Picture cropped(const Picture& picture, const Box& box);
/// With a border; `paper` has a value for each channel.
Picture padded(const Picture& picture, int border, const Values& paper = {0});
/// Averaged where it shrinks, smooth where it grows.
Picture resized(const Picture& picture, int height, int width);
Picture fitted(const Picture& picture, int longer_side);
/// The maximum, and the minimum, over a square of 2 reach + 1.
Picture highest(const Picture& picture, int reach);
Picture lowest(const Picture& picture, int reach);
/// Averaged with its neighbours by 1-2-1 in both directions.
Picture blurred(const Picture& picture, int times = 1);
/// The length of the gradient.
Picture steepness(const Picture& picture);

struct Point {
  double y, x;
};
Point centre_of_mass(const Picture& picture);

/// The connected parts (8 neighbours) of what is set: 0, or the number of its part from 1.
struct Parts {
  int height;
  int width;
  int count;
  std::vector<int> labels;
};
Parts parts(const Picture& picture, float above);

}  // namespace lenet::images
