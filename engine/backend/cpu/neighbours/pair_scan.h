// Finds the pairs of rows within a distance by scanning, without storing distances: for points that no tree helps with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/distance.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Points centred in float, with the norms of what was stored. For the Euclidean distance a product of float tiles says which pairs are
// within, which are not, and which need their distance in double (functors.h, score_error). Borrows the points. T: float or double.
template <class T>
class PairScan {
 public:
  PairScan(MatrixView<const T> points, const Distance& distance);

  struct Queries {
    MatrixView<const T> rows;
    std::vector<float> centred;
    std::vector<float> norms;   // not squared
  };
  Queries prepare(MatrixView<const T> queries) const;   // on the calling thread
  Queries own(std::int64_t first, std::int64_t count) const;   // points as queries

  struct Hit {
    std::int32_t query, point;
    double reduced;   // NaN if the caller only wants to know whether
  };
  // Appends the pairs of queries with points first .. first + count - 1 within `limit`, by query, then by point.
  void find(const Queries& queries, std::int64_t first, std::int64_t count, double limit, bool with_distance, std::vector<Hit>& hits) const;

  MatrixView<const T> points() const { return points_; }

 private:
  void centre(MatrixView<const T> rows, float* centred, float* norms) const;
  double reduced(const T* a, const T* b) const;
  MatrixView<const T> points_;
  Distance distance_;
  std::vector<T> centre_;
  std::vector<float> centred_, norms_, squares_;
  float largest_ = 0;
};

}  // namespace kedge::engine
