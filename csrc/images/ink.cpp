#include "images/ink.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lenet::images {
namespace {

constexpr double kReach =
    0.16;  // of the longer side: a window of twice it is wider than any stroke

// The light's slow course over the paper ----------------------------------------------------------

constexpr int kTerms = 6;  // of a quadratic
using Terms = std::array<double, kTerms>;

Terms terms(const Picture& picture, int row, int column) {
  const double y = row * (2.0 / (picture.height - 1)) - 1;
  const double x = column * (2.0 / (picture.width - 1)) - 1;
  return {1, x, y, x * x, x * y, y * y};
}

double product(const Terms& one, const Terms& other) {
  double total = 0;
  for (int k = 0; k < kTerms; ++k) total += one[k] * other[k];
  return total;
}

/// What, of the rows' terms, comes closest to the values: Gauss with pivots.
Terms least_squares(const std::vector<Terms>& rows, const std::vector<double>& values,
                    const std::vector<double>& weights) {
  std::array<std::array<double, kTerms + 1>, kTerms> table{};
  for (int i = 0; i < kTerms; ++i) {
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const double scaled = rows[n][i] * weights[n];
      for (int j = 0; j < kTerms; ++j) table[i][j] += scaled * rows[n][j];
      table[i][kTerms] += scaled * values[n];
    }
    table[i][i] += 1e-6;
  }
  for (int k = 0; k < kTerms; ++k) {
    const auto larger = [k](const auto& one, const auto& other) {
      return std::abs(one[k]) < std::abs(other[k]);
    };
    std::swap(table[k], *std::max_element(table.begin() + k, table.end(), larger));
    for (int i = k + 1; i < kTerms; ++i) {
      const double times = table[i][k] / table[k][k];
      for (int j = k; j <= kTerms; ++j) table[i][j] -= times * table[k][j];
    }
  }
  Terms found{};
  for (int k = kTerms - 1; k >= 0; --k) {
    double rest = table[k][kTerms];
    for (int j = k + 1; j < kTerms; ++j) rest -= table[k][j] * found[j];
    found[k] = rest / table[k][k];
  }
  return found;
}

/// A quadratic through the majority of the pixels.
Picture trend(const Picture& seen) {
  std::vector<Terms> few;  // every fourth pixel is enough
  std::vector<double> values;
  for (int row = 0; row < seen.height; row += 2) {
    for (int column = 0; column < seen.width; column += 2) {
      few.push_back(terms(seen, row, column));
      values.push_back(seen.values[row * seen.width + column]);
    }
  }
  const double middle = median(values);
  std::vector<double> rest;
  for (const double value : values) rest.push_back(value - middle);
  Terms course{};
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<double> apart;
    for (const double one : rest) apart.push_back(std::abs(one));
    const double spread = 1.5 * median(std::move(apart)) + 0.01;
    std::vector<double> weights;  // outliers are ink, and have none
    for (const double one : rest) {
      const double far = one / spread;
      const double less = 1 + far * far;
      weights.push_back(1 / (less * less));
    }
    course = least_squares(few, values, weights);
    for (std::size_t n = 0; n < rest.size(); ++n) rest[n] = values[n] - product(few[n], course);
  }
  return mapped(seen, [&](float, std::size_t n) {
    const int at = static_cast<int>(n);
    return static_cast<float>(product(terms(seen, at / seen.width, at % seen.width), course));
  });
}

// Ink ---------------------------------------------------------------------------------------------

/// How strong the ink is, of what is stronger than the paper's noise gets.
std::optional<double> ink_level(const Values& values) {
  const std::vector<double> low = quantiles(values, {0.05, 0.25});  // paper, however much ink
  const double noise = 6 * (low[1] - low[0]) + 0.015;               // five standard deviations
  const auto floor = static_cast<float>(std::max(low[1], 0.0) + noise);
  Values above = chosen(values, [floor](float value, std::size_t) { return value > floor; });
  if (above.empty()) return std::nullopt;
  for (float& value : above) value = std::min(value, 1.0F);  // resizing overshoots
  return otsu(histogram(above, 64, 0, 1));
}

/// How steep the outline is, 0 to 1: ink is sharper than the edges of shadows and glare.
double sharpness(const Picture& flat, const Picture& cut, double level) {
  return std::min(1.0, 2.5 * steepness_along(steepness(cut), flat) / level);
}

// The digit ---------------------------------------------------------------------------------------

/// A connected piece of ink.
struct Piece {
  int number;
  double mass = 0;
  Box box;
  double rim = 0;    // the share of the picture's rim that it covers
  double merit = 0;  // how likely it is the digit, or the greatest part of it
  bool kept = false;
};

std::vector<Piece> pieces(const Parts& parts, const Picture& inked) {
  std::vector<Piece> found;
  for (int number = 0; number <= parts.count; ++number) {
    found.push_back({number, 0, {parts.height, 0, parts.width, 0}});
  }
  for (int y = 0, at = 0; y < parts.height; ++y) {
    for (int x = 0; x < parts.width; ++x, ++at) {
      Piece& piece = found[parts.labels[at]];
      piece.mass += inked.values[at];
      piece.box = {std::min(piece.box.top, y), y + 1, std::min(piece.box.left, x),
                   std::max(piece.box.right, x + 1)};
    }
  }
  const std::vector<int> edge = rim(parts.height, parts.width, 1, parts.labels);
  for (const int number : edge) found[number].rim += 1;
  found.erase(found.begin());  // what is no ink
  const auto lighter = [](const Piece& one, const Piece& other) { return one.mass < other.mass; };
  const double least = 0.01 * std::max_element(found.begin(), found.end(), lighter)->mass;
  const auto speck = [least](const Piece& piece) { return piece.mass < least; };
  found.erase(std::remove_if(found.begin(), found.end(), speck), found.end());
  for (Piece& piece : found) {
    piece.rim /= static_cast<double>(edge.size());
    const double down = static_cast<double>(piece.box.top + piece.box.bottom) / parts.height - 1;
    const double right = static_cast<double>(piece.box.left + piece.box.right) / parts.width - 1;
    const double off = std::sqrt(down * down + right * right) / 2;
    piece.merit = std::sqrt(piece.mass) * (1.2 - off) * (piece.rim > 0.12 ? 0.05 : 1);
  }
  return found;
}

/// Pixels between two boxes, 0 where they overlap.
int gap(const Box& one, const Box& other) {
  return std::max({one.top - other.bottom, other.top - one.bottom, one.left - other.right,
                   other.left - one.right, 0});
}

/// Whether this is a printed box around the digit: straight sides, and other ink inside.
bool is_printed_box(const Piece& piece, const std::vector<Piece>& all, const Parts& parts) {
  const Box& box = piece.box;
  const auto inside = [&](const Piece& other) {
    return other.mass > 0.1 * piece.mass && other.box.longer() > 0.2 * box.longer() &&
           box.top < other.box.top && other.box.bottom < box.bottom && box.left < other.box.left &&
           other.box.right < box.right;
  };
  if (std::none_of(all.begin(), all.end(), inside)) return false;
  const int deep = std::max(1, rounded(0.1 * box.longer()));
  std::vector<char> upper(box.width()), lower(upper);  // the columns that it has there
  std::vector<char> left(box.height()), right(left);   // the rows
  for (int y = 0; y < box.height(); ++y) {
    for (int x = 0; x < box.width(); ++x) {
      if (parts.labels[(box.top + y) * parts.width + box.left + x] != piece.number) continue;
      if (y < deep) upper[x] = 1;
      if (y >= box.height() - deep) lower[x] = 1;
      if (x < deep) left[y] = 1;
      if (x >= box.width() - deep) right[y] = 1;
    }
  }
  int straight = 0;
  for (const auto* side : {&upper, &lower, &left, &right}) {
    straight += share(*side, [](char there) { return there != 0; }) > 0.8;
  }
  return straight >= 3;
}

/// Whether it covers a whole side of the picture, as the paper in the light or in the shade does.
bool covers_a_side(const Piece& piece, const Parts& parts) {
  const std::vector<int> edge = rim(parts.height, parts.width, 1, parts.labels);
  auto from = edge.begin();
  for (const int length : {parts.width, parts.width, parts.height, parts.height}) {
    if (std::count(from, from + length, piece.number) >= length - length / 20) return true;
    from += length;
  }
  return false;
}

// The view ----------------------------------------------------------------------------------------

/// 1: the minority of the pixels is lighter. Ink is sharp, shadows are not.
double skewness(const Picture& seen) {
  const Picture course = trend(seen);
  const Picture rest =
      mapped(seen, [&](float value, std::size_t n) { return value - course.values[n]; });
  const Picture steep = steepness(rest);
  double total = 0;
  double size = 1e-12;
  for (std::size_t n = 0; n < rest.values.size(); ++n) {
    const double value = rest.values[n];
    const double cube = value * value * value * steep.values[n];
    total += cube;
    size += std::abs(cube);
  }
  return total / size;
}

/// How far ink stands out from the paper's unevenness, if it looks like ink.
double merit(const Picture& plain) {
  const Picture flat = light(plain);
  const std::optional<Picture> inked = ink(flat);
  const std::optional<Picture> cut = inked ? digit(*inked) : std::nullopt;
  const std::optional<double> level = ink_level(blurred(flat, 2).values);
  if (!cut || !level) return 0;
  const auto half = static_cast<float>(*level / 2);
  const Values paper =
      chosen(flat.values, [half](float value, std::size_t) { return value < half; });
  if (paper.empty()) return 0;
  const double contrast = *level / (deviation(paper) + 0.02);
  const double covered = share(rim(*inked), [](float value) { return value > 0.5F; });
  return contrast * sharpness(flat, *cut, *level) * (1 - 0.5 * covered);  // ink seldom reaches it
}

}  // namespace

Picture light(const Picture& plain) {
  const Picture small = blurred(fitted(plain, kSmall));
  const Picture course =
      mapped(trend(small), [](float value, std::size_t) { return std::max(value, 0.05F); });
  const int most = std::min(rounded(kReach * small.longer()), rounded(0.45 * small.shorter()));
  const int reach = std::max(3, most);
  const Picture even =
      mapped(small, [&](float value, std::size_t n) { return value / course.values[n]; });
  // A closing leaves bright things, and dark ones wider than any stroke.
  const Picture closed = lowest(highest(even, reach), reach);
  const Picture shaded =
      mapped(closed, [&](float value, std::size_t n) { return value * course.values[n]; });
  const Picture paper = resized(blurred(shaded), plain.height, plain.width);
  return mapped(plain, [&](float value, std::size_t n) {
    return 1 - value / std::max(paper.values[n], 0.02F);
  });
}

std::optional<Picture> ink(const Picture& flat) {
  const Picture soft = blurred(flat, 2);
  const std::optional<double> found = ink_level(soft.values);
  if (!found) return std::nullopt;
  const auto level = static_cast<float>(*found);
  return clipped(
      mapped(soft, [level](float value, std::size_t) { return (value / level - 0.3F) / 0.4F; }));
}

double steepness_along(const Picture& outline, const Picture& picture) {
  const Picture steep = steepness(picture);
  double total = 0;
  for (std::size_t n = 0; n < outline.values.size(); ++n) {
    total += outline.values[n] * steep.values[n];
  }
  const auto length = static_cast<float>(std::max(sum(outline.values), 1e-6));
  return static_cast<float>(total / length);
}

bool stands_out(const Picture& flat, const Picture& cut) {
  const Picture soft = blurred(flat, 2);
  const Values inked =
      chosen(soft.values, [&](float, std::size_t n) { return cut.values[n] > 0.5F; });
  const Values paper =
      chosen(soft.values, [&](float, std::size_t n) { return cut.values[n] == 0; });
  if (inked.empty() || paper.empty()) return true;
  const std::vector<double> found = quantiles(paper, {0.5, 0.99});
  const double above = (mean(inked) - found[0]) / (found[1] - found[0] + 0.003);
  if (above >= 3.2) return true;
  const std::optional<double> level = ink_level(soft.values);
  return level && sharpness(soft, cut, *level) >= 0.28;
}

std::optional<Picture> digit(const Picture& inked) {
  const Picture strokes =
      mapped(inked, [](float value, std::size_t) { return value > 0.5F ? 1.0F : 0.0F; });
  const int reach = std::max(1, rounded(0.012 * inked.longer()));  // half a dying pen's widest gap
  Parts found = parts(highest(strokes, reach), 0);
  if (found.count == 0) return std::nullopt;
  for (std::size_t n = 0; n < found.labels.size(); ++n) {
    if (!(inked.values[n] > 0)) found.labels[n] = 0;
  }
  std::vector<Piece> all = pieces(found, inked);
  const std::vector<Piece> every = all;
  const auto printed = [&](const Piece& piece) { return is_printed_box(piece, every, found); };
  all.erase(std::remove_if(all.begin(), all.end(), printed), all.end());
  const auto worse = [](const Piece& one, const Piece& other) { return one.merit < other.merit; };
  Piece& main = *std::max_element(all.begin(), all.end(), worse);
  if (covers_a_side(main, found)) return std::nullopt;
  main.kept = true;
  for (bool grew = true; grew;) {
    const std::vector<Piece> before = all;
    grew = false;
    for (Piece& piece : all) {
      const auto near = [&](const Piece& other) {
        return other.kept && gap(piece.box, other.box) < 0.2 * main.box.longer();
      };
      if (piece.kept || piece.mass <= 0.04 * main.mass || piece.rim >= 0.12 ||
          std::none_of(before.begin(), before.end(), near)) {
        continue;
      }
      piece.kept = grew = true;
    }
  }
  std::vector<char> kept(found.count + 1);
  for (const Piece& piece : all) kept[piece.number] = piece.kept;
  return mapped(
      inked, [&](float value, std::size_t n) { return kept[found.labels[n]] != 0 ? value : 0.0F; });
}

Picture View::of(const Picture& picture) const {
  Picture grey = picture;
  if (picture.channels == 3) {
    grey = Picture(picture.height, picture.width);
    for (std::size_t n = 0; n < grey.values.size(); ++n) {
      const float* const pixel = &picture.values[3 * n];
      const float red = pixel[0] * weights[0];
      const auto both = static_cast<float>(red + static_cast<double>(pixel[1]) * weights[1]);
      const auto all = static_cast<float>(both + static_cast<double>(pixel[2]) * weights[2]);
      grey.values[n] = all + offset;
    }
  }
  if (!turned) return grey;
  return mapped(grey, [](float value, std::size_t) { return 1 - value; });
}

View best_view(const Picture& picture) {
  const Picture small = fitted(picture, kSmall);
  View best = kBrightness;
  double most = 0;
  for (View view : kViews) {
    if (picture.channels == 1 && view.number > 0) break;
    const double skew = skewness(view.of(small));
    for (const bool turned : {false, true}) {
      const double prior = turned ? 1 + skew : 1 - skew;
      if (prior < 0.05) continue;  // beyond doubt, and half of the time saved
      view.turned = turned;
      double found = merit(view.of(small)) * (0.2 + prior);
      if (view.offset != 0) found *= 0.6;  // JPEG keeps colour coarsely
      if (found <= most * (most != 0 ? 1.15 : 1)) continue;
      best = view;
      most = found;
    }
  }
  return best;
}

}  // namespace lenet::images
