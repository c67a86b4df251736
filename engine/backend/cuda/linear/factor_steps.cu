// Steps of a non-negative factorisation on the GPU: three launches and at most one wait. A step reads X once (twice
// beyond kFactorChunk columns) and W once, writes W once, and multiplies 2 n k (d + k) times two values of T.
#include "engine/backend/cuda/linear/factor_steps.h"

#include <algorithm>
#include <limits>

#include "engine/backend/cuda/linear/factor_steps.cuh"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostParts = 2048;                     // blocks of rows; each has sums of its own
constexpr std::int64_t kSumEntries = std::int64_t{1} << 22;   // doubles of these sums, 32 MiB

FactorOrder order_of(std::span<const std::int64_t> parts) {
  FactorOrder order{};
  for (std::size_t t = 0; t < kMostFactorParts; ++t)
    order.part[t] = static_cast<std::uint8_t>(t < parts.size() ? parts[t] : static_cast<std::int64_t>(t));
  return order;
}

template <class T>
FactorShape<T> shape_of(const FactorProblem<T>& problem) {
  return {.X = raw(problem.X),
          .n = problem.X.rows,
          .d = problem.X.cols,
          .x_stride = problem.X.stride,
          .W = raw(problem.W),
          .H = raw(problem.H),
          .k = static_cast<int>(problem.H.rows),
          .by_coordinates = problem.by_coordinates,
          .updates_h = problem.updates_h,
          .l1_w = static_cast<T>(problem.l1_w),
          .l2_w = static_cast<T>(problem.l2_w),
          .l1_h = static_cast<T>(problem.l1_h),
          .l2_h = static_cast<T>(problem.l2_h),
          .least = std::numeric_limits<T>::min(),
          .tiny = static_cast<T>(sizeof(T) == sizeof(double) ? 1e-100 : 1e-20)};
}

template <class T>
class CudaFactorSteps final : public FactorSteps<T> {
 public:
  CudaFactorSteps(CudaRuntime& runtime, const FactorProblem<T>& problem)
      : runtime_(runtime),
        shape_(shape_of(problem)),
        block_rows_(rows_of_block(shape_)),
        blocks_(tiles_of(shape_.n, block_rows_)),
        numbers_(runtime, 2 * (shape_.k * (shape_.k + 3) + shape_.k * shape_.d)),
        parts_(runtime, blocks_ * shape_.entries()),
        sums_(runtime, shape_.entries() + 1) {
    const std::int64_t k = shape_.k;
    T* place = raw(numbers_);
    for (FactorSide<T>* const side : {&of_w_, &of_h_}) {
      *side = {.gram = place,
               .diagonal = place + k * k,
               .inverse = place + k * (k + 1),
               .basis = place + k * (k + 3),
               .shift = place + k * (k + 2)};
      place += k * (k + 3) + k * shape_.d;
    }
    columns(order_of({}), nullptr);
  }

  double step(std::span<const std::int64_t> of_w, std::span<const std::int64_t> of_h) override {
    const std::int64_t entries = shape_.entries(), first = shape_.updates_h ? 0 : entries - 1;
    const std::size_t cells = static_cast<std::size_t>(2 * shape_.k * kFactorStride + kFactorRows * kChunkStride);
    KEDGE_LAUNCH(runtime_, factor_rows<T>, static_cast<unsigned>(blocks_), kFactorRows, cells * sizeof(T), shape_,
                 of_w_, order_of(of_w), block_rows_, parts_.data());
    KEDGE_LAUNCH(runtime_, add_factor_parts<T>, blocks_for(entries - first, kBlocksAcross),
                 dim3(kBlocksAcross, kBlocksAlong), 0, parts_.data(), blocks_, entries, first, sums_.data());
    if (shape_.updates_h) columns(order_of(of_h), raw(sums_));
    if (!shape_.by_coordinates) return 0;
    double violation = 0;
    runtime_.to_host(&violation, raw(sums_) + (shape_.updates_h ? entries : entries - 1), sizeof violation);
    return violation;
  }

 private:
  static std::int64_t rows_of_block(const FactorShape<T>& shape) {
    const std::int64_t tiles = tiles_of(shape.n, kFactorRows),
                       most = std::clamp<std::int64_t>(kSumEntries / shape.entries(), 1, kMostParts);
    return tiles_of(tiles, most) * kFactorRows;
  }

  void columns(const FactorOrder& order, const double* sums) {
    KEDGE_LAUNCH(runtime_, factor_columns<T>, 1, kFactorThreads, 0, shape_, of_w_, of_h_, order, sums, of_h_.basis,
                 raw(sums_) + shape_.entries());
  }

  CudaRuntime& runtime_;
  FactorShape<T> shape_;
  std::int64_t block_rows_, blocks_;
  Array<T> numbers_;
  Array<double> parts_, sums_;   // sums_: of all blocks, then the violation of both factors
  FactorSide<T> of_w_{}, of_h_{};
};

}   // namespace

template <class T>
std::unique_ptr<FactorSteps<T>> cuda_factor_steps(CudaRuntime& runtime, const FactorProblem<T>& problem) {
  if (problem.H.rows > kMostFactorParts || problem.H.size() == 0 || problem.X.rows == 0) return nullptr;
  return std::make_unique<CudaFactorSteps<T>>(runtime, problem);
}
template std::unique_ptr<FactorSteps<float>> cuda_factor_steps(CudaRuntime&, const FactorProblem<float>&);
template std::unique_ptr<FactorSteps<double>> cuda_factor_steps(CudaRuntime&, const FactorProblem<double>&);

}   // namespace kedge::engine
