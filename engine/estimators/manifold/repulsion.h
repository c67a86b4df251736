// The forces that drive the points of an embedding apart, by a tree over the points.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/host/step_team.h"

namespace kedge::engine {

inline constexpr int kMostDims = 3;

// Coordinates of n points in 2 or 3 dimensions, each coordinate of all points in a row.
struct EmbeddedPoints {
  std::int64_t n = 0;
  int dims = 2;
  std::vector<double> coordinates;   // dims x n

  const double* lane(int d) const { return coordinates.data() + d * n; }
  double* lane(int d) { return coordinates.data() + d * n; }
};

// With Student's t of one degree of freedom less than there are dimensions, f: w = 1 / (1 + |y_i - y_j|^2 / f),
// q = w^((f + 1) / 2). forces = sum_j q w (y_i - y_j), and returns the sum of q over all i and j != i. Points far away count as
// one at their mean, in float32: where their cell is narrower than `angle` times its distance; an angle of 0 counts each. The same
// bits for any number of threads.
// Source: van der Maaten, "Accelerating t-SNE using tree-based algorithms", JMLR 2014; near points share one walk.
class Repulsion {
 public:
  explicit Repulsion(StepTeam& team) : team_(team) {}
  double forces(const EmbeddedPoints& points, double angle, EmbeddedPoints& forces);

 private:
  // In the order of a walk; a leaf has its points, other cells their mean.
  struct Cell {
    std::array<float, kMostDims> mean;
    double width;
    std::int32_t begin, end;   // of the points in order
    std::int32_t next;         // the cell after those below this one
    bool is_leaf;
  };
  struct Sources;   // that push a group of points

  void order_points(const EmbeddedPoints& points);
  std::int32_t add_cell(std::int32_t begin, std::int32_t end, int level);
  template <int kDims>
  void collect(std::int32_t begin, std::int32_t end, double angle, Sources& sources) const;
  template <int kDims>
  double push_block(std::int64_t begin, std::int64_t end, double angle, EmbeddedPoints& forces) const;
  template <int kDims>
  double push_all(double angle, EmbeddedPoints& forces);

  StepTeam& team_;   // outlives this
  int dims_ = 2;
  double side_ = 0;                       // of the cube around all points
  std::vector<std::uint64_t> codes_;      // places along a curve through the cube, in order
  std::vector<std::int32_t> order_;       // the points in that order
  std::array<std::vector<float>, kMostDims> sorted_;
  std::vector<Cell> cells_;
};

}   // namespace kedge::engine
