// All distances between two sets of rows on the CPU.
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/neighbours/neighbour_index.h"
#include "engine/backend/cpu/neighbours/row_distance.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

template <Metric M, class T>
KEDGE_CLONES void distances_to(const T* row, MatrixView<const T> Y, double power, double* out) {
  for (std::int64_t j = 0; j < Y.rows; ++j) out[j] = row_distance<M>(row, raw(Y) + j * Y.stride, Y.cols, power);
}

template <class T>
class CpuDistances final : public DistanceOps<T> {
 public:
  void pairwise(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) override {
    with_metric(distance.metric, [&]<Metric M>() {
      for_tiles(X.rows, 16, X.rows * Y.size() / 2, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        std::vector<double> reduced(static_cast<std::size_t>(Y.rows));
        for (std::int64_t i = begin; i < end; ++i) {
          check_job_stop();
          distances_to<M>(raw(X) + i * X.stride, Y, distance.power, reduced.data());
          for (std::int64_t j = 0; j < Y.rows; ++j)
            raw(out)[i * out.stride + j] = static_cast<T>(distance.restored(reduced[static_cast<std::size_t>(j)]));
        }
      });
    });
  }

  std::unique_ptr<NeighbourIndex<T>> index_points(MatrixView<const T> points, const Distance& distance) override {
    return make_neighbour_index(*neighbours_, points, distance);
  }

 private:
  std::unique_ptr<NeighbourOps<T>> neighbours_ = make_cpu_neighbours<T>();
};

}   // namespace

template <class T>
std::unique_ptr<DistanceOps<T>> make_cpu_distances() {
  return std::make_unique<CpuDistances<T>>();
}
template std::unique_ptr<DistanceOps<float>> make_cpu_distances<float>();
template std::unique_ptr<DistanceOps<double>> make_cpu_distances<double>();

}   // namespace kedge::engine
