// Ink and paper separated in any light, the strokes that make up the digit, and the colours in
// which it stands out. Nothing is returned where nothing stands out from the paper.
#pragma once

#include <array>
#include <optional>

#include "images/picture.hpp"

namespace lenet::images {

/// The paper's own brightness divided out: 0 is paper, towards 1 is ink.
Picture light(const Picture& plain);

/// Coverage by ink, 0 to 1; a stroke's edge is where it has half its strength.
std::optional<Picture> ink(const Picture& flat);

/// The strokes that make up the digit, without specks, edges and printed boxes.
std::optional<Picture> digit(const Picture& inked);

/// How steep a picture is along an outline.
double steepness_along(const Picture& outline, const Picture& picture);

/// Whether what was cut out is more than the paper's own mottle, which is soft and hardly stronger
/// than the rest of the paper.
bool stands_out(const Picture& flat, const Picture& cut);

/// A way to see a picture as dark ink on light paper; a turned one is of light ink on dark paper.
struct View {
  int number;  // in the order of `kViews`
  std::array<float, 3> weights;
  float offset = 0;
  bool turned = false;

  /// The grey picture.
  Picture of(const Picture& picture) const;
};

/// A faint blue pen is as dark in the red channel as a black pen is in brightness. Differences of
/// channels tell colours of equal brightness apart.
inline constexpr std::array<View, 7> kViews{{{0, {0.299F, 0.587F, 0.114F}},
                                             {1, {1, 0, 0}},
                                             {2, {0, 1, 0}},
                                             {3, {0, 0, 1}},
                                             {4, {0.5F, -0.5F, 0}, 0.5F},
                                             {5, {0.5F, 0, -0.5F}, 0.5F},
                                             {6, {0, 0.5F, -0.5F}, 0.5F}}};
inline constexpr const View& kBrightness = kViews[0];

/// The view in which something like a digit stands out most.
View best_view(const Picture& picture);

}  // namespace lenet::images
