// A GPU as a device: the runtime, the libraries' handles and the ops built on them.
#include "engine/backend/cuda/cuda_device.h"

#include <algorithm>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/embedding/embedding.h"
#include "engine/backend/cuda/linked_memory.h"
#include "engine/backend/cuda/svm/support_vectors.h"
#include "engine/backend/lanes.h"
#include "engine/backend/recorded_steps.h"
#include "engine/backend/trees_factory.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlocks = 64;   // of rows that the memory holds, at least: a GPU of 4 GiB has them in full size

class CudaDevice final : public Device,
                         public EmbeddingDevice,
                         public SupportVectorDevice,
                         public DeviceLanes,
                         public LinkedTables,
                         public StepRecorder,
                         public RowSumsDevice {
 public:
  explicit CudaDevice(const CudaRuntime::Options& options)
      : runtime_(options),
        linked_memory_(make_linked_memory(runtime_)),
        libraries_(runtime_),
        sums_(runtime_),
        trees_(make_cuda_trees(runtime_, libraries_)),
        embedding_(make_cuda_embedding(runtime_)),
        support_vectors_(make_cuda_support_vectors(runtime_)) {
    fill(f32_);
    fill(f64_);
  }
  const DeviceInfo& info() const override { return runtime_.info(); }
  DeviceTraits traits() const override {
    const std::int64_t memory = info().memory_bytes;
    return {.block_bytes = memory > 0 ? std::min(kGpuBlockBytes, memory / kBlocks) : kGpuBlockBytes};
  }
  Memory& memory() override { return runtime_; }
  Backend<float>& f32() override { return f32_; }
  Backend<double>& f64() override { return f64_; }
  TreeOps& trees() override { return *trees_; }
  EmbeddingOps& embedding() override { return *embedding_; }
  SupportVectorOps& support_vectors() override { return *support_vectors_; }

  int usual_lanes() const override { return runtime_.usual_lanes(); }
  Device& lane(int i) override {
    while (lanes_.size() <= static_cast<std::size_t>(i))
      lanes_.push_back(std::make_unique<CudaDevice>(CudaRuntime::Options{.beside = &runtime_})),
          lanes_.back()->linked_from_ = linked_from_;
    return *lanes_[static_cast<std::size_t>(i)];
  }
  void begin_lane(int i) override { lanes_[static_cast<std::size_t>(i)]->runtime_.begin_work(); }
  void end_lane(int i) noexcept override { lanes_[static_cast<std::size_t>(i)]->runtime_.end_work(); }

  std::unique_ptr<RecordedSteps> record(const std::function<void()>& ops) override { return runtime_.record(ops); }

  LinkedMemory& linked_memory() override { return *linked_memory_; }
  void link_from(std::int64_t least_bytes) override {
    linked_from_ = least_bytes;
    for (const auto& lane : lanes_) lane->linked_from_ = least_bytes;
  }
  std::int64_t linked_from() const override { return linked_from_; }

  RowMeeting* meet_by(RowMeeting* meeting) noexcept override { return sums_.meet_by(meeting); }
  bool asks_for(std::int64_t n_rows) const override { return sums_.asks_for(n_rows); }

 private:
  template <class T>
  void fill(Backend<T>& ops) {
    const CudaParts<T> parts{ops, runtime_, libraries_, sums_};
    ops = {.tables = make_cuda_tables(parts),
           .linear = make_cuda_linear(parts),
           .factorise = make_cuda_factorise(parts),
           .design = make_cuda_design(parts),
           .rows = make_cuda_rows(parts),
           .logistic = make_cuda_logistic(parts),
           .neighbours = make_cuda_neighbours(parts),
           .distances = make_cuda_distances(parts),
           .bayes = make_cuda_bayes(parts),
           .columns = make_cuda_columns(parts),
           .categories = make_cuda_categories(parts),
           .maps = make_cuda_maps(parts),
           .clusters = make_cuda_clusters(parts),
           .sparse = make_cuda_sparse(parts),
           .convex = make_cuda_convex(parts),
           .network = make_cuda_network(parts)};
  }

  CudaRuntime runtime_;
  std::unique_ptr<LinkedMemory> linked_memory_;
  std::int64_t linked_from_ = 0;
  DeviceLibraries libraries_;
  DealtSums sums_;
  Backend<float> f32_;
  Backend<double> f64_;
  std::unique_ptr<TreeOps> trees_;
  std::unique_ptr<EmbeddingOps> embedding_;
  std::unique_ptr<SupportVectorOps> support_vectors_;
  std::vector<std::unique_ptr<CudaDevice>> lanes_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(const CudaRuntime::Options& options) { return std::make_unique<CudaDevice>(options); }

}  // namespace kedge::engine
