// All distances between two sets of rows on the CPU.
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/row_distance.h"
#include "engine/backend/cpu/rows.h"

namespace kedge::engine {
namespace {

template <Metric M, class T>
KEDGE_CLONES void distances_to(const T* row, MatrixView<const T> Y, double power, double* out) {
  for (std::int64_t j = 0; j < Y.rows; ++j) out[j] = row_distance<M>(row, Y.data + j * Y.stride, Y.cols, power);
}

}  // namespace

template <class T>
void CpuNeighbours<T>::distances(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) {
  with_metric(distance.metric, [&]<Metric M>() {
    for_tiles(X.rows, 16, X.rows * Y.size() / 2, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      std::vector<double> reduced(static_cast<std::size_t>(Y.rows));
      for (std::int64_t i = begin; i < end; ++i) {
        check_job_stop();
        distances_to<M>(X.data + i * X.stride, Y, distance.power, reduced.data());
        for (std::int64_t j = 0; j < Y.rows; ++j)
          out.data[i * out.stride + j] = static_cast<T>(distance.restored(reduced[static_cast<std::size_t>(j)]));
      }
    });
  });
}

template void CpuNeighbours<float>::distances(MatrixView<const float>, MatrixView<const float>, const Distance&, MatrixView<float>);
template void CpuNeighbours<double>::distances(MatrixView<const double>, MatrixView<const double>, const Distance&, MatrixView<double>);

}  // namespace kedge::engine
