// All distances between two sets of rows on the GPU: one warp a pair, so reads of long rows are side by side.
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/neighbours/neighbour_index.cuh"
#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/neighbours/spanning_tree.h"
#include "engine/backend/cuda/neighbours/ward_merges.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

template <Metric M, class T>
__global__ void pair_distances(MatrixView<const T> X, MatrixView<const T> Y, double power, MatrixView<T> out) {
  const std::int64_t j = own_row();
  if (j >= Y.rows) return;
  for (std::int64_t i = blockIdx.y; i < X.rows; i += gridDim.y) {
    const double reduced = warp_distance<M>(raw(X) + i * X.stride, raw(Y) + j * Y.stride, X.cols, power);
    if (threadIdx.x != 0) continue;
    if constexpr (M == Metric::kEuclidean) raw(out)[i * out.stride + j] = static_cast<T>(sqrt(reduced));
    else if constexpr (M == Metric::kMinkowski) raw(out)[i * out.stride + j] = static_cast<T>(pow(reduced, 1 / power));
    else raw(out)[i * out.stride + j] = static_cast<T>(reduced);
  }
}

template <class T>
class CudaDistances final : public DistanceOps<T>, public SpanningTreeOps, public WardOps, private CudaBody {
 public:
  explicit CudaDistances(const CudaParts<T>& parts) : CudaBody(parts), parts_(parts) {}

  void pairwise(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) override {
    constexpr std::int64_t kMostRows = 65535;   // of a grid
    const dim3 grid(blocks_for(Y.rows, 8), static_cast<unsigned>(X.rows < kMostRows ? X.rows : kMostRows));
    with_metric(distance.metric, [&]<Metric M>() {
      KEDGE_LAUNCH(runtime_, (pair_distances<M, T>), grid, dim3(kLanes, 8), 0, X, Y, distance.power, out);
    });
  }

  std::unique_ptr<NeighbourIndex<T>> index_points(MatrixView<const T> points, const Distance& distance) override {
    return make_neighbour_index(parts_, points, distance);
  }

  std::optional<std::vector<SpanningEdge>> spanning_edges(MatrixView<const double> points, const Distance& distance,
                                                          VectorView<const double> reach,
                                                          const std::function<void(std::int64_t)>& pause) override {
    return cuda_spanning_edges(runtime_, points, distance, reach, pause);
  }

  std::optional<std::vector<WardMerge>> ward_merges(MatrixView<const double> points,
                                                    const std::function<void(std::int64_t)>& pause) override {
    return cuda_ward_merges(runtime_, points, pause);
  }

 private:
  CudaParts<T> parts_;
};

}   // namespace

template <class T>
std::unique_ptr<DistanceOps<T>> make_cuda_distances(const CudaParts<T>& parts) {
  return std::make_unique<CudaDistances<T>>(parts);
}
template std::unique_ptr<DistanceOps<float>> make_cuda_distances<float>(const CudaParts<float>&);
template std::unique_ptr<DistanceOps<double>> make_cuda_distances<double>(const CudaParts<double>&);

}   // namespace kedge::engine
