#include "images/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "images/ink.hpp"

namespace lenet::images {
namespace {

constexpr int kSide = 28;
constexpr int kOverview = 320;  // pixels of the longer side while looking for the digit
constexpr int kClose = 224;     // and from `zoom` to `scale`
constexpr int kBox = 20;        // MNIST fits the digit into this square
constexpr int kFine = 4;        // we shape the strokes at so many times that resolution
constexpr double kThin = 2;     // MNIST's strokes in pixels of the 20x20 box, thinnest ...
constexpr double kThick = 3.6;  // ... and thickest
constexpr double kBlob = 8;     // a filled disc or square has 10: no pen wrote it

std::optional<Box> bounds_above(const Picture& picture, float level) {
  return bounds(picture.height, picture.width, picture.values,
                [level](float value) { return value > level; });
}

/// How far the middle nine tenths of the values reach.
double spread(const Values& values) {
  const std::vector<double> ends = quantiles(values, {0.05, 0.95});
  return ends[1] - ends[0];
}

/// For each channel the median of the pixels that `is` holds for, of their index.
template <class Is>
Values median_pixel(const Picture& picture, Is is) {
  Values found;
  for (int which = 0; which < picture.channels; ++which) {
    const Values values = channel(picture, which).values;
    found.push_back(median(chosen(values, [&](float, std::size_t n) { return is(n); })));
  }
  return found;
}

// The picture -------------------------------------------------------------------------------------

/// Laid on paper where it is transparent: white, or black where its ink is light; nothing where all
/// of it is transparent.
std::optional<Picture> on_paper(const Picture& picture) {
  Picture color(picture.height, picture.width, 3);
  const Values alpha = channel(picture, 3).values;
  for (std::size_t n = 0; n < color.values.size(); ++n) {
    color.values[n] = picture.values[n / 3 * 4 + n % 3];
  }
  const auto opaque = [&](std::size_t n) { return alpha[n] > 0.5F; };
  const double covered = share(alpha, [](float value) { return value > 0.5F; });
  if (covered == 0) return std::nullopt;
  if (covered == 1) return color;
  const Values grey = kBrightness.of(color).values;
  const Values seen = chosen(grey, [&](float, std::size_t n) { return opaque(n); });
  const bool photo = covered > 0.5 && spread(seen) > 0.3;  // with its corners cut off
  const Values paper =
      photo ? median_pixel(color, opaque) : Values(3, median(seen) < 0.5F ? 1.0F : 0.0F);
  return mapped(color, [&](float value, std::size_t n) {
    const float cover = alpha[n / 3];
    return value * cover + paper[n % 3] * (1 - cover);
  });
}

/// Opaque, and of one channel where all of it is grey.
std::optional<Picture> opaque(Picture picture) {
  if (picture.channels == 1) return picture;
  std::optional<Picture> color = std::move(picture);
  if (color->channels == 4) color = on_paper(*color);
  if (!color) return std::nullopt;
  for (std::size_t n = 0; n < color->values.size(); ++n) {
    if (color->values[n] != color->values[n / 3 * 3]) return color;
  }
  return channel(*color, 0);
}

/// Whether it already is as MNIST makes it. All 70,000 of MNIST have a dark rim, a longer side of
/// 18 to 20 and their centre of mass within half a pixel of (14, 14); a drawing merely saved as
/// 28x28 has not.
bool is_mnist(const Picture& picture) {
  if (picture.height != kSide || picture.width != kSide || picture.channels != 1) return false;
  const auto on = [](float value) { return value > 0.13F; };
  const std::optional<Box> box = bounds_above(picture, 0.13F);
  if (!box || share(rim(picture), on) > 0.1) return false;
  const Point mass = centre_of_mass(
      mapped(picture, [&](float value, std::size_t) { return on(value) ? value : 0.0F; }));
  return 14 <= box->longer() && box->longer() <= 22 && std::abs(mass.y - 14) <= 2 &&
         std::abs(mass.x - 14) <= 2;
}

// The paper ---------------------------------------------------------------------------------------

/// The mean of the darker pixels, the middle, and the mean of the lighter ones.
struct Tones {
  double dark, middle, light;

  explicit Tones(const Values& values) : light(otsu(histogram(values, 64))) {
    const auto level = static_cast<float>(light);
    const Values darker =
        chosen(values, [level](float value, std::size_t) { return value < level; });
    dark = darker.empty() ? light : mean(darker);
    middle = (dark + light) / 2;
  }
};

/// The sheet of paper cut out of a darker table, nothing where there is no table. Else the sheet
/// itself, small and bright, would pass for the digit.
std::optional<Picture> sheet(const Picture& picture) {
  const Picture small = kBrightness.of(fitted(picture, kSmall));
  const Tones tones(small.values);
  const auto middle = static_cast<float>(tones.middle);
  const Parts found = parts(small, middle);
  const double bright_rim = share(rim(small), [middle](float value) { return value > middle; });
  if (found.count == 0 || tones.dark > 0.75 * tones.light || bright_rim > 0.4) return std::nullopt;
  std::vector<int> sizes(found.count + 1);
  for (const int label : found.labels) sizes[label] += label > 0;
  const auto largest_size = std::max_element(sizes.begin(), sizes.end());
  const auto largest = static_cast<int>(largest_size - sizes.begin());
  const Picture bright =
      mapped(small, [&](float, std::size_t n) { return found.labels[n] == largest ? 1.0F : 0.0F; });
  const Box box = *bounds_above(bright, 0.5F);
  const int touched =
      (box.top == 0) + (box.left == 0) + (box.bottom == small.height) + (box.right == small.width);
  if (touched > 2) return std::nullopt;  // a half of the paper that lies in the light
  const double area = static_cast<double>(box.height()) * box.width();
  const double covers = area / static_cast<double>(small.values.size());
  const double filled = *largest_size / area;  // 0.65 in the thickest of digits
  const double inset = 0.03 * box.longer();
  if (filled < 0.7 || covers < 0.15 || covers > 0.95 ||
      std::min(box.height(), box.width()) < 0.3 * box.longer()) {
    return std::nullopt;
  }
  if (steepness_along(steepness(bright), small) < 0.2 * (tones.light - tones.dark)) {
    return std::nullopt;  // soft: light falling off, not a sheet's edge
  }
  const auto inside = [&](const Picture& whole, double ratio) {
    const auto at = [ratio](double end) { return static_cast<int>(end * ratio); };
    return cropped(whole, {at(box.top + inset), at(box.bottom - inset), at(box.left + inset),
                           at(box.right - inset)});
  };
  const Values inner = inside(small, 1).values;
  const double dark = share(inner, [middle](float value) { return value < middle; });
  if (!(dark > 0.004)) return std::nullopt;
  return inside(picture, static_cast<double>(picture.height) / small.height);
}

/// Once around the picture.
Values outline(const Picture& picture) {
  Values around;
  const auto take = [&](int y, int x) {
    around.push_back(picture.values[static_cast<std::size_t>(y) * picture.width + x]);
  };
  for (int x = 0; x < picture.width; ++x) take(0, x);
  for (int y = 0; y < picture.height; ++y) take(y, picture.width - 1);
  for (int x = picture.width - 1; x >= 0; --x) take(picture.height - 1, x);
  for (int y = picture.height - 1; y >= 0; --y) take(y, 0);
  return around;
}

/// Room made around a thick digit that fills its picture, nothing where there is room. Without it
/// there is more ink than paper, and the holes would pass for the digit.
std::optional<Picture> with_margin(const Picture& picture) {
  const Picture little = fitted(picture, kSmall);
  const Picture small = kBrightness.of(little);
  const Tones tones(small.values);
  const double apart = tones.light - tones.dark;
  const auto middle = static_cast<float>(tones.middle);
  const auto is_bright = [middle](float value) { return value > middle; };
  const auto quarter = static_cast<float>(0.25 * apart);
  const auto between = [&](float value) { return std::abs(value - middle) < quarter; };
  // Uneven light has more than two tones.
  if (apart < 0.2 || share(small.values, between) > 0.15) return std::nullopt;
  const Values around = outline(small);
  int crossings = 0;
  for (std::size_t n = 0; n < around.size(); ++n) {
    crossings += is_bright(around[n]) != is_bright(around[n > 0 ? n - 1 : around.size() - 1]);
  }
  const double bright = share(small.values, is_bright);
  // The edge of a shadow crosses the rim twice.
  if (crossings == 2 || !(0.15 < bright && bright < 0.85)) return std::nullopt;
  Picture edge(1, 0, little.channels);
  edge.values = rim(little);
  edge.width = static_cast<int>(edge.values.size()) / edge.channels;
  const Values tone = kBrightness.of(edge).values;
  const bool mostly = share(around, is_bright) > 0.5;
  const auto of_paper = [&](std::size_t n) { return is_bright(tone[n]) == mostly; };
  const Values paper_tones = chosen(tone, [&](float, std::size_t n) { return of_paper(n); });
  if (spread(paper_tones) > 0.25 * apart) return std::nullopt;  // a shadow or a gradient
  return padded(picture, rounded(0.2 * picture.longer()), median_pixel(edge, of_paper));
}

// The digit's size and place ----------------------------------------------------------------------

/// A small digit cut out of a large sheet, so that all later steps see it at one size.
std::optional<Step> zoom(const Picture& picture, const Picture& found) {
  const std::optional<Box> box = bounds_above(found, 0.5F);
  if (!box) return std::nullopt;
  const int size = box->longer();
  if (size > 0.6 * found.longer()) return Step{Name::zoom, fitted(picture, kClose), {}};
  const double ratio = static_cast<double>(picture.height) / found.height;
  const double room = 0.35 * size + 2;
  const auto first = [&](int at) { return std::max(0, static_cast<int>((at - room) * ratio)); };
  const auto last = [&](int at, int end) {
    return std::min(end, static_cast<int>((at + room) * ratio) + 1);
  };
  const Box part{first(box->top), last(box->bottom, picture.height), first(box->left),
                 last(box->right, picture.width)};
  return Step{Name::zoom,
              fitted(cropped(picture, part), kClose),
              {part.left, part.right, part.top, part.bottom}};
}

/// Cropped to the ink, its longer side 20 x kFine.
std::optional<Picture> boxed(const Picture& cut) {
  const std::optional<Box> box = bounds_above(cut, 0.5F);
  if (!box) return std::nullopt;
  return clipped(fitted(cropped(cut, *box), kBox * kFine));
}

/// The mean width of the strokes, 2 * area / outline.
double stroke_width(const Picture& cover) {
  return 2 * sum(cover.values) / std::max(sum(steepness(padded(cover, 1)).values), 1e-6);
}

/// Strokes grown by `radius` pixels on each side; shrunk where it is negative.
Picture swollen(const Picture& cover, double radius) {
  if (radius < 0) {
    const auto turned = [](float value, std::size_t) { return 1 - value; };
    return mapped(swollen(mapped(cover, turned), -radius), turned);
  }
  Picture out = cover;
  const int reach = static_cast<int>(std::ceil(radius));
  for (int y = -reach; y <= reach; ++y) {
    for (int x = -reach; x <= reach; ++x) {
      const double edge = radius + 0.5 - std::sqrt(y * y + x * x);  // of the disc: it is soft
      const auto inside = static_cast<float>(std::min(1.0, edge));
      if (inside <= 0) continue;
      for (int row = 0, at = 0; row < cover.height; ++row) {
        const int from = std::clamp(row + y, 0, cover.height - 1) * cover.width;
        for (int column = 0; column < cover.width; ++column, ++at) {
          const int other = from + std::clamp(column + x, 0, cover.width - 1);
          out.values[at] = std::max(out.values[at], cover.values[other] * inside);
        }
      }
    }
  }
  return out;
}

/// The digit fitted into 20x20 (four times finer here) with strokes of MNIST's width.
std::optional<Picture> scale(const Picture& cut) {
  std::optional<Picture> fine = boxed(cut);
  if (!fine) return std::nullopt;
  // A square's sides lie on the box's own.
  if (stroke_width(padded(*fine, 1)) / kFine > kBlob) return std::nullopt;
  const double width = stroke_width(*fine) / kFine;
  const double wanted = std::clamp(width, kThin, kThick);
  if (std::abs(wanted - width) > 0.1) {
    fine = boxed(swollen(padded(*fine, 4 * kFine), (wanted - width) * kFine / 2));
  }
  if (!fine) return std::nullopt;
  return padded(*fine, kFine);
}

/// The centre of mass in the middle of 28x28.
Picture centre(const Picture& fine) {
  const double middle = (kSide / 2 + 0.5) * kFine - 0.5;  // of pixel (14, 14)
  const Point mass = centre_of_mass(fine);
  const int down = rounded(middle - mass.y);
  const int right = rounded(middle - mass.x);
  Picture out(kSide, kSide);
  for (int y = 0; y < kSide * kFine; ++y) {
    for (int x = 0; x < kSide * kFine; ++x) {
      const int row = y - down;
      const int column = x - right;
      if (row < 0 || row >= fine.height || column < 0 || column >= fine.width) continue;
      out.values[y / kFine * kSide + x / kFine] += fine.values[row * fine.width + column];
    }
  }
  for (float& value : out.values) value /= kFine * kFine;
  return clipped(out);
}

/// A connected part of the ink.
struct Patch {
  Box box;
  int ink;  // pixels
};

std::vector<Patch> patches(const Picture& strokes) {
  const Parts found = parts(strokes, 0.5F);
  std::vector<int> sizes(found.count + 1);
  for (const int label : found.labels) ++sizes[label];
  std::vector<Patch> all;
  for (int number = 1; number <= found.count; ++number) {
    const auto own = [number](int label) { return label == number; };
    all.push_back({*bounds(found.height, found.width, found.labels, own), sizes[number]});
  }
  return all;
}

/// Where the digit is, if other ink is nearly as tall and dark; at the rim it is no digit. Or two
/// such parts side by side are read as one digit.
Side side_of_several(const Picture& strokes, const Picture& found) {
  constexpr double kAsTall = 0.5;
  constexpr double kAsDark = 0.25;
  const std::optional<Box> box = bounds_above(found, 0.5F);
  if (!box) return Side::none;
  const double least = kAsDark * share(found.values, [](float value) { return value > 0.5F; }) *
                       static_cast<double>(found.pixels());
  const auto is_small = [&](const Patch& one) {
    return one.ink < least || one.box.height() < kAsTall * box->height();
  };
  const Picture others = mapped(
      strokes, [&](float value, std::size_t n) { return found.values[n] > 0 ? 0.0F : value; });
  for (const Patch& one : patches(others)) {
    const Box& other = one.box;
    const bool touches = other.top == 0 || other.left == 0 || other.bottom == others.height ||
                         other.right == others.width;
    if (touches || is_small(one)) continue;
    return box->left + box->right > other.left + other.right ? Side::right : Side::left;
  }
  std::vector<Patch> own = patches(found);
  own.erase(std::remove_if(own.begin(), own.end(), is_small), own.end());
  if (own.size() != 2) return Side::none;
  const bool apart = own[0].box.right <= own[1].box.left || own[1].box.right <= own[0].box.left;
  return apart ? Side::together : Side::none;
}

/// The black of each four pixels of a white pad. Half of its pixels a side are enough for the 80 in
/// which the digit is shaped.
Picture ink_of_pad(const Picture& pad) {
  const Values black = channel(pad, 0).values;
  Picture out(pad.height / 2, pad.width / 2);
  for (int y = 0, n = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x, ++n) {
      const float* const upper = &black[static_cast<std::size_t>(2 * y) * pad.width + 2 * x];
      const float* const lower = upper + pad.width;
      out.values[n] = 1 - (upper[0] + upper[1] + lower[0] + lower[1]) / 4;
    }
  }
  return out;
}

/// The last steps, of the strokes that make up the digit.
void fit(const Picture& cut, Prepared& prepared) {
  std::optional<Picture> fine = scale(cut);
  if (!fine) return;
  Picture answer = centre(*fine);
  prepared.steps.push_back({Name::scale, *std::move(fine), {}});
  prepared.steps.push_back({Name::centre, std::move(answer), {}});
  prepared.found = true;
}

}  // namespace

Prepared explain(Picture picture) {
  Prepared prepared;
  const auto step = [&](Name name, Picture made, std::vector<int> about = {}) -> const Picture& {
    prepared.steps.push_back({name, std::move(made), std::move(about)});
    return prepared.steps.back().picture;
  };
  prepared.steps.reserve(11);  // so that what `step` returns stays where it is
  std::optional<Picture> whole = opaque(std::move(picture));
  if (!whole) return prepared;
  const Picture* plane = &step(Name::opaque, *std::move(whole));
  if (is_mnist(*plane)) {
    step(Name::untouched, *plane);
    prepared.found = true;
    return prepared;
  }
  if (std::optional<Picture> paper = sheet(*plane)) plane = &step(Name::sheet, *std::move(paper));
  if (std::optional<Picture> roomy = with_margin(*plane)) {
    plane = &step(Name::margin, *std::move(roomy));
  }
  const Picture overview = fitted(*plane, kOverview);
  const View view = best_view(overview);
  const Picture& seen = step(Name::grey, view.of(overview), {view.number, view.turned ? 1 : 0});
  const std::optional<Picture> strokes = ink(light(seen));
  const std::optional<Picture> found = strokes ? digit(*strokes) : std::nullopt;
  std::optional<Step> close = found ? zoom(*plane, *found) : std::nullopt;
  if (!close) return prepared;
  prepared.side = side_of_several(*strokes, *found);
  const Picture& plain = step(Name::zoom, view.of(close->picture), std::move(close->about));
  const Picture& flat = step(Name::light, light(plain));
  std::optional<Picture> inked = ink(flat);
  if (!inked) return prepared;
  std::optional<Picture> cut = digit(step(Name::ink, *std::move(inked)));
  if (!cut) return prepared;
  const Picture& kept = step(Name::digit, *std::move(cut));
  // Enlarged pixels are always soft.
  if (plane->longer() > kSmall && !stands_out(flat, kept)) return prepared;
  fit(kept, prepared);
  return prepared;
}

Prepared explain_drawing(const Picture& pad) {
  Prepared prepared;
  prepared.steps.reserve(4);
  prepared.steps.push_back({Name::ink, ink_of_pad(pad), {}});
  const Picture& strokes = prepared.steps.back().picture;
  std::optional<Picture> cut = digit(strokes);
  if (!cut) return prepared;
  prepared.side = side_of_several(strokes, *cut);
  prepared.steps.push_back({Name::digit, *std::move(cut), {}});
  fit(prepared.steps.back().picture, prepared);
  return prepared;
}

}  // namespace lenet::images
