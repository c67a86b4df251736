// Places of rows in few dimensions, moved by a device itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/layout_functors.h"

namespace kedge::engine {

// One iteration of gradient descent with momentum and a gain for each coordinate.
struct PointStep {
  double momentum = 0.5, exaggeration = 1;   // exaggeration: factor of the affinities
  double rate = 1;
};

// Of an iteration: the divergence of the exaggerated affinities from those of the points before it, and the sum of the
// squares of its slopes, each times its gain.
struct DescentMeasure {
  double divergence = 0, squares = 0;
};

// Points that go down the gradient of a divergence. A resource of one device.
class PointDescent {
 public:
  virtual ~PointDescent() = default;
  // From here on without momentum, and with gains of 1.
  virtual void restart() = 0;
  // `count` >= 1 iterations; answers what the last one measured. Errors: kCancelled; those of the device.
  virtual DescentMeasure advance(const PointStep& step, std::int64_t count) = 0;
  // dims x n, each coordinate of all points in a row.
  virtual std::vector<double> points() const = 0;
};

// A symmetric sparse matrix of the host; the entries of row i are row_begin[i] .. row_begin[i + 1] - 1. Borrows.
struct GraphView {
  std::span<const std::int64_t> row_begin;
  std::span<const std::int32_t> columns;
  std::span<const double> values;

  std::int64_t n_rows() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
};

// The edges of n places by the step of an epoch that takes them (layout_functors.h): group g of place i is begin[4 i +
// g]
// .. begin[4 i + g + 1] - 1; a step takes two groups, and the first or the second of them sees places by chance.
// Borrows.
struct LayoutEdges {
  std::span<const std::int64_t> begin;
  std::span<const std::int32_t> columns;
  std::span<const float> shares;   // of all epochs, in which the edge pulls
};

struct LayoutRules {
  LayoutForce force;
  std::int64_t negatives = 5;   // places by chance for each edge that pulls
  std::uint64_t seed = 0;
};

// Places that move by the epochs of UMAP. A resource of one device.
class PlaceLayout {
 public:
  virtual ~PlaceLayout() = default;
  // The epochs `first`, `first` + 1, ..., one for each learning rate. Waits. Errors: kCancelled; those of the device.
  virtual void advance(std::int64_t first, std::span<const float> rates) = 0;
  virtual std::vector<float> places() const = 0;   // n x dims
};

// Of a device that has memory of its own.
class EmbeddingOps {
 public:
  virtual ~EmbeddingOps() = default;
  // t-SNE's descent: `affinities` sum up to 1; points (host): dims x n, 2 or 3 dimensions. Every point repels every
  // other one, O(n^2) an iteration: w = 1 / (1 + |y_i - y_j|^2 / f) with f = max(1, dims - 1), q = w^((f + 1) / 2),
  // gradient 2 (f + 1) / f (exaggeration sum_j p w (y_i - y_j) - sum_j q w (y_i - y_j) / sum q). Forces are float32,
  // added in double after at most 256 terms: within 2^-15 of the sum of their magnitudes. Places, steps and sums are
  // double, in an order that the shape alone decides, so a device gives the same bits again. Copies what it is given;
  // waits in advance() once, and oftener where iterations take long.
  virtual std::unique_ptr<PointDescent> descend(const GraphView& affinities, std::span<const double> points,
                                                int dims) = 0;
  // UMAP's layout of places (host, n x dims): in a step each place moves by all its edges and draws at once, and sees
  // the others where they were before it, each sum in the order of its edges. The bits of the host
  // (engine/estimators/manifold/umap_layout.h). Copies what it is given.
  virtual std::unique_ptr<PlaceLayout> lay_out(const LayoutEdges& edges, const LayoutRules& rules,
                                               std::span<const float> places, std::int64_t dims) = 0;
};

// A Device that moves places itself is one of these, too.
class EmbeddingDevice {
 public:
  virtual ~EmbeddingDevice() = default;
  virtual EmbeddingOps& embedding() = 0;
};

// Null where places are moved by the host, engine/estimators/manifold.
inline EmbeddingOps* embedding_ops(Device& device) {
  auto* const moving = dynamic_cast<EmbeddingDevice*>(&device);
  return moving ? &moving->embedding() : nullptr;
}

}   // namespace kedge::engine
