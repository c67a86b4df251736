// How UMAP's places move: the forces, the edges that are due, and the draws, the same bits on every device.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

inline constexpr std::int64_t kLayoutBlock = 256;       // places whose draws have one key
inline constexpr int kLayoutParts = 2;                  // of the edges; a step takes one of them
inline constexpr int kLayoutSteps = 2 * kLayoutParts;   // of an epoch
inline constexpr float kFurthestMove = 4;               // along a coordinate, at a learning rate of 1
inline constexpr float kLeastLayoutSquare = 1e-30F;

struct LayoutForce {
  float a, b, pull, push;   // pull: 2 a b, push: 2 repulsion b
};

// x^b of a normal x > 0, without branches: 2^(b log2 x) by polynomials, within 1e-5.
KEDGE_HD_INLINE float layout_power(float x, float b) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  constexpr float kRound =
      0x1.8p23F;   // added and taken away, it rounds to an integer, whose bits are the sum's lowest
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), exponent = (bits - kSqrtHalf) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23)), f = (m - 1) / (m + 1), s = f * f;
  const float series = 1 + s * (1.0F / 3 + s * (1.0F / 5 + s * (1.0F / 7)));
  const float wanted = b * (static_cast<float>(exponent) + 2.88539008F * f * series);
  const float kept = wanted < -120 ? -120 : (wanted > 120 ? 120 : wanted), shifted = kept + kRound;
  const float t = kept - (shifted - kRound);
  const float sum =
      1 + t * (0.693147181F + t * (0.240226507F + t * (0.0555041087F + t * (0.00961812911F + t * 0.00133335581F))));
  return sum * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127) << 23);
}

// What a gap between two places whose distance has this square is multiplied by, along an edge.
KEDGE_HD_INLINE float pull_slope(const LayoutForce& force, float square) {
  const float kept = square > kLeastLayoutSquare ? square : kLeastLayoutSquare, near = layout_power(kept, force.b);
  const float value = -force.pull * near / (kept * (force.a * near + 1));
  return square > kLeastLayoutSquare ? value : 0;
}
// The same for a place by chance; 0 for the place itself, or one at the same place.
KEDGE_HD_INLINE float push_slope(const LayoutForce& force, float square) {
  const float kept = square > kLeastLayoutSquare ? square : kLeastLayoutSquare, near = layout_power(kept, force.b);
  const float value = force.push / ((0.001F + kept) * (force.a * near + 1));
  return square > 0 ? value : 0;
}
KEDGE_HD_INLINE float clipped_move(float x) {
  const float below = x < kFurthestMove ? x : kFurthestMove;
  return below > -kFurthestMove ? below : -kFurthestMove;
}

// Whether an edge of this share of all epochs pulls in this one.
KEDGE_HD_INLINE bool is_due(float share, float epoch) {
  return std::floor(epoch * share) > std::floor((epoch - 1) * share);
}

KEDGE_HD_INLINE std::uint32_t mixed_bits(std::uint32_t x) {   // Wellons, "lowbias32"
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}
// The t-th place by chance of n, under a key.
KEDGE_HD_INLINE std::int32_t place_by_chance(std::uint32_t key0, std::uint32_t key1, std::uint32_t t, std::uint32_t n) {
  const std::uint32_t word = mixed_bits(mixed_bits(t ^ key0) + key1);
  return static_cast<std::int32_t>((word * static_cast<std::uint64_t>(n)) >> 32);
}

}   // namespace kedge::engine
