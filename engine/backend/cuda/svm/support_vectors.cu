// Working sets on the GPU: launches, and the one copy that the host waits for after each set.
#include "engine/backend/cuda/svm/support_vectors.h"

#include <utility>

#include "engine/backend/cuda/svm/choose_set.cuh"
#include "engine/backend/cuda/svm/solve_set.cuh"
#include "engine/core/array.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 256;

// A thread has a column of all rows: reads 4 bytes of each.
__global__ void add_kept_rows(MatrixView<const float> kept, const std::int32_t* places, const double* coefs, int count,
                              double* values) {
  __shared__ std::int32_t rows[kSmoSet];
  __shared__ double factors[kSmoSet];
  for (int i = threadIdx.x; i < count; i += kThreads) rows[i] = places[i], factors[i] = coefs[i];
  __syncthreads();
  const std::int64_t j = own_item();
  if (j >= kept.cols) return;
  double sum = values[j];
  for (int i = 0; i < count; ++i) sum += factors[i] * static_cast<double>(raw(kept)[rows[i] * kept.stride + j]);
  values[j] = sum;
}

template <class From, class To>
__global__ void round_rows(MatrixView<const From> from, const std::int32_t* places, MatrixView<To> to) {
  const std::int64_t i = block_y(), j = own_item();
  if (i >= from.rows || j >= from.cols) return;
  raw(to)[(places ? places[i] : i) * to.stride + j] = static_cast<To>(raw(from)[i * from.stride + j]);
}

class CudaSmoSteps final : public SmoSteps {
 public:
  CudaSmoSteps(CudaRuntime& runtime, const SmoVariables& variables)
      : runtime_(runtime),
        by_sign_(variables.by_sign),
        most_(static_cast<int>(kSmoSet) / (by_sign_ ? 8 : 4)),
        row_(runtime, variables.row),
        y_(runtime, variables.y),
        C_(runtime, variables.C),
        offset_(runtime, variables.offset),
        alpha_(runtime, variables.alpha),
        values_(runtime, variables.n_rows),
        coefs_(runtime, kSmoSet),
        scratch_(runtime, kFaceScratch),
        places_(runtime, kSmoSet),
        state_(runtime, 1),
        report_(runtime, 1) {
    values_.zero(), state_.zero();
    for (int side = 0; side < 2; ++side) {
      const std::int64_t entries =
          lists() * most_ * tiles_of(tiles_of(row_.size(), kRankTile), side ? kRankTile / most_ : 1);
      keys_[side] = Array<std::uint64_t>(runtime, entries), at_[side] = Array<std::int32_t>(runtime, entries);
    }
  }

  VectorView<const std::int32_t> choose(double tol) override {
    std::int64_t tiles = tiles_of(row_.size(), kRankTile);
    int now = 0;
    KEDGE_LAUNCH(runtime_, rank_variables, dim3(static_cast<unsigned>(tiles), lists()), kSetThreads, 0, variables(),
                 most_, ranked(now));
    while (tiles > 1) {
      const std::int64_t count = tiles * most_;
      tiles = tiles_of(count, kRankTile);
      KEDGE_LAUNCH(runtime_, rank_again, dim3(static_cast<unsigned>(tiles), lists()), kSetThreads, 0, ranked(now),
                   count, most_, ranked(1 - now));
      now = 1 - now;
    }
    KEDGE_LAUNCH(runtime_, form_set, 1, kSetThreads, 0, variables(), ranked(now), most_, tol, raw(state_),
                 raw(report_));
    // The rows are a part of the report; they lie behind its numbers.
    auto* const rows =
        reinterpret_cast<std::int32_t*>(reinterpret_cast<std::byte*>(raw(report_)) + offsetof(SetReport, rows));
    return {rows, kSmoSet};
  }

  SmoSet solve(MatrixView<const float> K, std::int64_t max_iter) override {
    KEDGE_LAUNCH(runtime_, solve_set, 1, kSetThreads, 0, variables(), raw(state_), raw(K), raw(scratch_), max_iter,
                 raw(report_));
    const SetReport report = report_.to_host().front();
    return {.gap = report.gap,
            .n_iter = report.n_iter,
            .has_converged = report.has_converged != 0,
            .is_indefinite = report.is_indefinite != 0,
            .rows = {report.rows, report.rows + report.count},
            .changes = {report.changes, report.changes + report.count}};
  }

  void add(MatrixView<const float> kept, std::span<const std::int32_t> places, std::span<const double> coefs) override {
    if (places.empty()) return;
    runtime_.to_device(raw(places_), places.data(), places.size_bytes());
    runtime_.to_device(raw(coefs_), coefs.data(), coefs.size_bytes());
    KEDGE_LAUNCH(runtime_, add_kept_rows, blocks_for(kept.cols, kThreads), kThreads, 0, kept, raw(places_), raw(coefs_),
                 static_cast<int>(places.size()), raw(values_));
  }

  std::vector<double> alpha() const override { return alpha_.to_host(); }
  std::vector<double> values() const override { return values_.to_host(); }

 private:
  unsigned lists() const { return by_sign_ ? 4 : 2; }
  Ranked ranked(int side) { return {raw(keys_[side]), raw(at_[side])}; }
  DeviceVariables variables() {
    return {raw(row_), raw(y_), raw(C_), raw(offset_), raw(alpha_), raw(values_), row_.size(), by_sign_};
  }

  CudaRuntime& runtime_;
  bool by_sign_;
  int most_;   // of each list that are chosen
  Array<std::int32_t> row_;
  Array<signed char> y_;
  Array<double> C_, offset_, alpha_, values_, coefs_, scratch_;
  Array<std::int32_t> places_;
  Array<SetState> state_;
  Array<SetReport> report_;
  Array<std::uint64_t> keys_[2];
  Array<std::int32_t> at_[2];
};

class CudaSupportVectors final : public SupportVectorOps {
 public:
  explicit CudaSupportVectors(CudaRuntime& runtime) : runtime_(runtime) {}

  std::unique_ptr<SmoSteps> smo_steps(const SmoVariables& variables) override {
    return std::make_unique<CudaSmoSteps>(runtime_, variables);
  }
  void put_rows(MatrixView<const float> from, VectorView<const std::int32_t> places, MatrixView<float> to) override {
    put(from, places, to);
  }
  void put_rows(MatrixView<const float> from, VectorView<const std::int32_t> places, MatrixView<double> to) override {
    put(from, places, to);
  }
  void put_rows(MatrixView<const double> from, VectorView<const std::int32_t> places, MatrixView<float> to) override {
    put(from, places, to);
  }

 private:
  template <class From, class To>
  void put(MatrixView<const From> from, VectorView<const std::int32_t> places, MatrixView<To> to) {
    const dim3 grid = tall_grid(runtime_, blocks_for(from.cols, kThreads), blocks_for(from.rows, 1));
    KEDGE_LAUNCH(runtime_, (round_rows<From, To>), grid, kThreads, 0, from, places.empty() ? nullptr : raw(places), to);
  }

  CudaRuntime& runtime_;
};

}   // namespace

std::unique_ptr<SupportVectorOps> make_cuda_support_vectors(CudaRuntime& runtime) {
  return std::make_unique<CudaSupportVectors>(runtime);
}

}   // namespace kedge::engine
