// A GPU as a device: the runtime, the libraries' handles and the ops built on them.
#include "engine/backend/cuda/cuda_device.h"

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/embedding/embedding.h"
#include "engine/backend/trees_factory.h"

namespace kedge::engine {
namespace {

class CudaDevice final : public Device, public EmbeddingDevice {
 public:
  explicit CudaDevice(const CudaRuntime::Options& options)
      : runtime_(options),
        libraries_(runtime_),
        trees_(make_cuda_trees(runtime_, libraries_)),
        embedding_(make_cuda_embedding(runtime_)) {
    fill(f32_);
    fill(f64_);
  }
  const DeviceInfo& info() const override { return runtime_.info(); }
  DeviceTraits traits() const override { return {.block_bytes = kGpuBlockBytes}; }
  Memory& memory() override { return runtime_; }
  Backend<float>& f32() override { return f32_; }
  Backend<double>& f64() override { return f64_; }
  TreeOps& trees() override { return *trees_; }
  EmbeddingOps& embedding() override { return *embedding_; }

 private:
  template <class T>
  void fill(Backend<T>& ops) {
    const CudaParts<T> parts{ops, runtime_, libraries_};
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
  DeviceLibraries libraries_;
  Backend<float> f32_;
  Backend<double> f64_;
  std::unique_ptr<TreeOps> trees_;
  std::unique_ptr<EmbeddingOps> embedding_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(const CudaRuntime::Options& options) { return std::make_unique<CudaDevice>(options); }

}  // namespace kedge::engine
