// A GPU as a device: the runtime, the libraries' handles and the ops built on them.
#include "engine/backend/cuda/cuda_device.h"

#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/trees_factory.h"

namespace kedge::engine {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaRuntime::Options& options) : runtime_(options), libraries_(runtime_), trees_(make_cuda_trees(runtime_)) {}
  const DeviceInfo& info() const override { return runtime_.info(); }
  Memory& memory() override { return runtime_; }
  Backend<float>& f32() override { return f32_; }
  Backend<double>& f64() override { return f64_; }
  TreeOps& trees() override { return *trees_; }

 private:
  CudaRuntime runtime_;
  DeviceLibraries libraries_;
  CudaBackend<float> f32_{runtime_, libraries_};
  CudaBackend<double> f64_{runtime_, libraries_};
  std::unique_ptr<TreeOps> trees_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(const CudaRuntime::Options& options) { return std::make_unique<CudaDevice>(options); }

}  // namespace kedge::engine
