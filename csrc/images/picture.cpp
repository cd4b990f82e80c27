#include "images/picture.hpp"

#include <algorithm>
#include <cmath>

namespace lenet::images {

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

double sum(const Values& values) {
  double total = 0;
  for (const float value : values) total += value;
  return total;
}

float mean(const Values& values) {
  return static_cast<float>(sum(values) / static_cast<double>(values.size()));
}

float deviation(const Values& values) {
  const float middle = mean(values);
  Values squares;
  for (const float value : values) {
    const double apart = value - middle;
    squares.push_back(static_cast<float>(apart * apart));
  }
  return std::sqrt(mean(squares));
}

std::vector<double> quantiles(Values values, const std::vector<double>& wanted) {
  std::vector<double> found;
  for (const double part : wanted) {
    const double at = static_cast<double>(values.size() - 1) * part;
    const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(values.begin(), below, values.end());
    if (below + 1 == values.end()) {
      found.push_back(*below);
      continue;
    }
    const float above = *std::min_element(below + 1, values.end());
    const double step = above - *below;
    const double rest = at - std::floor(at);
    found.push_back(rest < 0.5 ? *below + step * rest : above - step * (1 - rest));
  }
  return found;
}

Histogram histogram(const Values& values, int bins, float first, float last) {
  if (first == last) {
    first -= 0.5F;
    last += 0.5F;
  }
  const float width = last - first;
  const float scale = static_cast<float>(bins), step = width / scale;
  Histogram found{Values(bins + 1), std::vector<double>(bins)};
  for (int n = 0; n < bins; ++n) found.edges[n] = static_cast<float>(n) * step + first;
  found.edges[bins] = last;
  for (const float value : values) {
    if (value < first || value > last) continue;
    int n = std::min(bins - 1, static_cast<int>((value - first) / width * scale));
    if (value < found.edges[n]) --n;
    if (value >= found.edges[n + 1] && n != bins - 1) ++n;
    ++found.counts[n];
  }
  return found;
}

Histogram histogram(const Values& values, int bins) {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  return histogram(values, bins, *least, *largest);
}

double otsu(const Histogram& histogram) {
  const Values& edges = histogram.edges;
  const std::vector<double>& counts = histogram.counts;
  const auto value = [&](std::size_t n) -> double { return (edges[n] + edges[n + 1]) / 2; };
  double all = 0;
  double weight = 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    all += counts[n];
    weight += counts[n] * value(n);
  }
  double below = 0;
  double lower = 0;
  double most = -1;
  double upper = 0;
  for (std::size_t n = 0; n + 1 < counts.size(); ++n) {
    below += counts[n];
    lower += counts[n] * value(n);
    const double above = all - below;
    const double high = (weight - lower) / std::max(above, 1.0);
    const double apart = high - lower / std::max(below, 1.0);
    if (below * above * apart * apart <= most) continue;
    most = below * above * apart * apart;
    upper = above > 0 ? high : weight / all;
  }
  return upper;
}

Picture channel(const Picture& picture, int which) {
  Picture out(picture.height, picture.width);
  for (std::size_t n = 0; n < out.values.size(); ++n) {
    out.values[n] = picture.values[n * picture.channels + which];
  }
  return out;
}

Picture clipped(const Picture& picture) {
  return mapped(picture,
                [](float value, std::size_t) { return std::min(std::max(value, 0.0F), 1.0F); });
}

Picture cropped(const Picture& picture, const Box& box) {
  const int bottom = std::min(box.bottom, picture.height);
  const int right = std::min(box.right, picture.width);
  Picture out(std::max(0, bottom - box.top), std::max(0, right - box.left), picture.channels);
  const int row = out.width * out.channels;
  for (int y = 0; y < out.height; ++y) {
    const auto from =
        picture.values.begin() +
        ((box.top + y) * static_cast<std::size_t>(picture.width) + box.left) * picture.channels;
    std::copy(from, from + row, out.values.begin() + static_cast<std::size_t>(y) * row);
  }
  return out;
}

Picture padded(const Picture& picture, int border, const Values& paper) {
  Picture out(picture.height + 2 * border, picture.width + 2 * border, picture.channels);
  for (std::size_t n = 0; n < out.values.size(); ++n) out.values[n] = paper[n % out.channels];
  const int row = picture.width * picture.channels;
  for (int y = 0; y < picture.height; ++y) {
    const auto from = picture.values.begin() + static_cast<std::size_t>(y) * row;
    const auto at = (static_cast<std::size_t>(border + y) * out.width + border) * out.channels;
    std::copy(from, from + row, out.values.begin() + at);
  }
  return out;
}

namespace {

/// The old pixels that a new one takes, from the first on, and how much of each.
struct Taken {
  int first;
  std::vector<double> weights;
};

/// As Pillow's filters BOX and BICUBIC.
std::vector<Taken> taken(int before, int after, bool shrinks) {
  const auto weight = [shrinks](double x) -> double {
    if (shrinks) return x > -0.5 && x <= 0.5;
    x = std::abs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
  };
  const double scale = static_cast<double>(before) / after;
  const double widened = std::max(scale, 1.0);
  const double reach = (shrinks ? 0.5 : 2) * widened;
  std::vector<Taken> all(after);
  for (int n = 0; n < after; ++n) {
    const double middle = (n + 0.5) * scale;
    all[n].first = std::max(0, static_cast<int>(middle - reach + 0.5));
    const int end = std::min(before, static_cast<int>(middle + reach + 0.5));
    double total = 0;
    for (int x = all[n].first; x < end; ++x) {
      all[n].weights.push_back(weight((x - middle + 0.5) * (1 / widened)));
      total += all[n].weights.back();
    }
    for (double& one : all[n].weights) one = total == 0 ? one : one / total;
  }
  return all;
}

/// One axis at its new length: of `outer` times so many pixels of `inner` values each.
Values resized(const Values& values, int outer, int before, int after, int inner, bool shrinks) {
  Values out;
  out.reserve(static_cast<std::size_t>(outer) * after * inner);
  const std::vector<Taken> all = taken(before, after, shrinks);
  std::vector<double> totals(inner);
  for (int one = 0; one < outer; ++one) {
    for (const auto& [first, weights] : all) {
      std::fill(totals.begin(), totals.end(), 0.0);
      const float* from = &values[(static_cast<std::size_t>(one) * before + first) * inner];
      for (const double weight : weights) {
        for (int n = 0; n < inner; ++n) totals[n] += from[n] * weight;
        from += inner;
      }
      out.insert(out.end(), totals.begin(), totals.end());
    }
  }
  return out;
}

}  // namespace

Picture resized(const Picture& picture, int height, int width) {
  const bool shrinks = height < picture.height;
  Picture out = picture;
  if (width != out.width) {
    out.values = resized(out.values, out.height, out.width, width, out.channels, shrinks);
    out.width = width;
  }
  if (height != out.height) {
    out.values = resized(out.values, 1, out.height, height, width * out.channels, shrinks);
    out.height = height;
  }
  return out;
}

Picture fitted(const Picture& picture, int longer_side) {
  const double factor = static_cast<double>(longer_side) / picture.longer();
  const auto length = [factor](int whole) { return std::max(3, rounded(whole * factor)); };
  return resized(picture, length(picture.height), length(picture.width));
}

Picture highest(const Picture& picture, int reach) {
  Picture out = picture;
  Values line(picture.longer());
  const auto slide = [&](std::size_t start, std::size_t step, int count) {
    for (int n = 0; n < count; ++n) line[n] = out.values[start + n * step];
    for (int n = 0; n < count; ++n) {
      const auto from = line.begin() + std::max(n - reach, 0);
      const auto end = line.begin() + std::min(n + reach, count - 1) + 1;
      out.values[start + n * step] = *std::max_element(from, end);
    }
  };
  for (int x = 0; x < out.width; ++x) slide(x, out.width, out.height);
  for (int y = 0; y < out.height; ++y) {
    slide(static_cast<std::size_t>(y) * out.width, 1, out.width);
  }
  return out;
}

Picture lowest(const Picture& picture, int reach) {
  const auto negative = [](float value, std::size_t) { return -value; };
  return mapped(highest(mapped(picture, negative), reach), negative);
}

Picture blurred(const Picture& picture, int times) {
  const int height = picture.height;
  const int width = picture.width;
  Picture out = picture;
  for (; times > 0; --times) {
    const auto at = [&](const Picture& of, int y, int x) {
      const std::size_t row = std::clamp(y, 0, height - 1);
      return of.values[row * width + std::clamp(x, 0, width - 1)];
    };
    Picture down(height, width);
    for (int y = 0, n = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x, ++n) {
        down.values[n] = at(out, y - 1, x) + 2 * at(out, y, x) + at(out, y + 1, x);
      }
    }
    for (int y = 0, n = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x, ++n) {
        out.values[n] = (at(down, y, x - 1) + 2 * at(down, y, x) + at(down, y, x + 1)) / 16;
      }
    }
  }
  return out;
}

Picture steepness(const Picture& picture) {
  const Values& values = picture.values;
  const auto slope = [&](std::size_t at, int n, int count, std::size_t step) -> double {
    if (count == 1) return 0;
    if (n == 0) return values[at + step] - values[at];
    if (n == count - 1) return values[at] - values[at - step];
    return (values[at + step] - values[at - step]) / 2;
  };
  Picture out(picture.height, picture.width);
  for (int y = 0, at = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x, ++at) {
      const double down = slope(at, y, out.height, out.width);
      const double across = slope(at, x, out.width, 1);
      out.values[at] = static_cast<float>(std::sqrt(down * down + across * across));
    }
  }
  return out;
}

Point centre_of_mass(const Picture& picture) {
  const double mass = sum(picture.values);
  const double total = mass == 0 ? 1 : mass;
  Point centre{0, 0};
  std::vector<float> columns(picture.width);
  for (int y = 0, at = 0; y < picture.height; ++y) {
    double row = 0;
    for (int x = 0; x < picture.width; ++x, ++at) {
      row += picture.values[at];
      columns[x] += picture.values[at];
    }
    centre.y += y * row;
  }
  for (int x = 0; x < picture.width; ++x) centre.x += static_cast<double>(x) * columns[x];
  return {centre.y / total, centre.x / total};
}

Parts parts(const Picture& picture, float above) {
  Parts found{picture.height, picture.width, 0, std::vector<int>(picture.pixels())};
  std::vector<int> reached;
  const auto reach = [&](int at) {
    if (found.labels[at] != 0 || !(picture.values[at] > above)) return;
    found.labels[at] = found.count;
    reached.push_back(at);
  };
  for (int start = 0; start < static_cast<int>(found.labels.size()); ++start) {
    if (found.labels[start] != 0 || !(picture.values[start] > above)) continue;
    ++found.count;
    reach(start);
    while (!reached.empty()) {
      const int at = reached.back();
      reached.pop_back();
      const int row = at / found.width;
      const int column = at % found.width;
      for (int y = std::max(row - 1, 0); y <= std::min(row + 1, found.height - 1); ++y) {
        for (int x = std::max(column - 1, 0); x <= std::min(column + 1, found.width - 1); ++x) {
          reach(y * found.width + x);
        }
      }
    }
  }
  return found;
}

}  // namespace lenet::images
