// Both CUDA plug-ins for machines without a GPU: the real kernels on the emulator, which fails as GPUs do, on request.
// For tests.
//
// KEDGE_FAKE_GPU: "none" (a driver without a device), "no-driver", "lost" (is listed, cannot be opened), "old" (no code
// for it), "unlike" (each device has another name); otherwise all is well. KEDGE_FAKE_GPU_COUNT: how many devices there
// are (1). KEDGE_FAKE_GPU_PLAN names a file with one fault, "WHAT N". It happens once, in the
// first process that comes there, and the file goes. N counts from when the file is first seen.
// - oom: the Nth allocation fails.
// - illegal: the Nth kernel makes an illegal access, and all that follows fails as well.
// - refused: the Nth kernel is not started, and all is well after that.
// - abort: the process aborts at the Nth kernel.
// - kill: SIGKILL there.
// - endless: that kernel does not end.
// - tell: the file KEDGE_FAKE_GPU_BYTES gets the bytes in use before the Nth allocation.
// - wrong: a bit of the Nth download from the device's memory is another.
// KEDGE_FAKE_GPU_LEAK=1: what is given back is lost.
#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/plugin.h"
#include "engine/backend/recorded_steps.h"
#include "engine/backend/row_sums.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The name tells when it was loaded as the second.
DeviceInfo info_of(int index) {
  Dl_info place{};
  dladdr(reinterpret_cast<const void*>(&info_of), &place);
  return {.kind = DeviceKind::kCuda,
          .index = index,
          .name = std::string("fake GPU") +
                  (std::string_view(place.dli_fname).ends_with("12.so") ? " of CUDA 12" : "") +
                  (variable("KEDGE_FAKE_GPU") == "unlike" ? " number " + std::to_string(index) : ""),
          .driver = "13.0",
          .memory_bytes = std::int64_t{64} << 30};
}

[[noreturn]] void fail(const char* words) {
  throw schema::Error(schema::ErrorCode::kInternal, std::string("CUDA: ") + words);
}

// The fault that is to come, if any.
class Plan {
 public:
  // True when `what` happens at this place of its kind.
  bool strikes(const std::string& what) {
    read();
    if (what_ != what || --left_ > 0) return false;
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    what_.clear();
    return true;
  }

 private:
  void read() {
    if (file_.empty() || !what_.empty()) return;
    std::ifstream in(file_);
    if (!(in >> what_ >> left_)) what_.clear();
  }
  const std::string file_ = variable("KEDGE_FAKE_GPU_PLAN");
  std::string what_;
  long left_ = 0;
};

// The device's memory, which may lose what is given back, and give back other bits.
class FaultyMemory final : public Memory {
 public:
  FaultyMemory(Memory& inner, Plan& plan) : inner_(inner), plan_(plan) {}
  void* allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(void* p) noexcept override {
    if (!leaks_) inner_.deallocate(p);
  }
  void to_device(void* device, const void* host, std::size_t bytes) override { inner_.to_device(device, host, bytes); }
  void to_host(void* host, const void* device, std::size_t bytes) override {
    inner_.to_host(host, device, bytes);
    if (bytes && plan_.strikes("wrong"))
      static_cast<unsigned char*>(host)[bytes - 1] ^= 0x10;   // of a number's exponent
  }
  void copy(void* to, const void* from, std::size_t bytes) override { inner_.copy(to, from, bytes); }
  void zero(void* p, std::size_t bytes) override { inner_.zero(p, bytes); }
  void synchronize() override { inner_.synchronize(); }

 private:
  Memory& inner_;
  Plan& plan_;
  const bool leaks_ = !variable("KEDGE_FAKE_GPU_LEAK").empty();
};

class FakeGpu final : public Device, public RowSumsDevice, public StepRecorder {
 public:
  explicit FakeGpu(int index)
      : info_(info_of(index)), inner_(make_cuda_device({.index = index})), memory_(inner_->memory(), plan_) {
    auto& runtime = static_cast<CudaRuntime&>(inner_->memory());
    auto& emulator = *static_cast<emulated::Emulator*>(runtime.stream());
    emulator.memory.before_allocate = [this, &memory = emulator.memory](std::size_t bytes) {
      before_allocate(memory.live_bytes(), bytes);
    };
    emulator.before_launch = [this](const char* kernel) { before_launch(kernel); };
  }
  const DeviceInfo& info() const override { return info_; }
  Memory& memory() override { return memory_; }
  Backend<float>& f32() override { return inner_->f32(); }
  Backend<double>& f64() override { return inner_->f64(); }
  TreeOps& trees() override { return inner_->trees(); }
  RowMeeting* meet_by(RowMeeting* meeting) noexcept override { return row_sums_device(*inner_)->meet_by(meeting); }
  bool asks_for(std::int64_t n_rows) const override { return row_sums_device(*inner_)->asks_for(n_rows); }
  std::unique_ptr<RecordedSteps> record(const std::function<void()>& ops) override {
    return step_recorder(*inner_)->record(ops);
  }

 private:
  void before_allocate(std::size_t live, std::size_t bytes) {
    if (poisoned_) fail("an illegal memory access was encountered");
    if (plan_.strikes("tell")) std::ofstream(variable("KEDGE_FAKE_GPU_BYTES")) << live << '\n';
    if (plan_.strikes("oom"))
      throw schema::Error(schema::ErrorCode::kOutOfMemory, "fake GPU: no memory for " + std::to_string(bytes) + " bytes");
  }
  void before_launch(const char* kernel) {
    if (plan_.strikes("refused")) fail("invalid argument");
    if (plan_.strikes("illegal")) poisoned_ = true;
    if (poisoned_) fail("an illegal memory access was encountered");
    if (plan_.strikes("abort")) std::abort();
    if (plan_.strikes("kill")) std::raise(SIGKILL);
    if (!plan_.strikes("endless")) return;
    std::fprintf(stderr, "fake GPU: %s does not end\n", kernel);
    for (volatile bool ends = false; !ends;) {
    }
  }

  const DeviceInfo info_;
  const std::unique_ptr<Device> inner_;
  Plan plan_;
  FaultyMemory memory_;
  bool poisoned_ = false;
};

void tell(char* message, std::size_t size, const char* text) {
  if (size) std::snprintf(message, size, "%s", text);
}

int count(char* message, std::size_t size) {
  const std::string how = variable("KEDGE_FAKE_GPU");
  if (how == "no-driver") tell(message, size, "CUDA driver version is insufficient for CUDA runtime version");
  if (how == "none") tell(message, size, "the CUDA driver reports no device");
  const std::string several = variable("KEDGE_FAKE_GPU_COUNT");
  return how == "no-driver" ? -1 : how == "none" ? 0 : several.empty() ? 1 : std::stoi(several);
}

const std::string kOld = "its compute capability is 7.0, and this build has code for 7.5, 8.0";

bool describe(int index, DeviceInfo* info, char* message, std::size_t size) {
  *info = info_of(index);
  if (variable("KEDGE_FAKE_GPU") != "old") return true;
  tell(message, size, kOld.c_str());
  return false;
}

Device* open(int index, char* message, std::size_t size) {
  const std::string how = variable("KEDGE_FAKE_GPU");
  if (how == "lost") tell(message, size, "GPU is lost");
  if (how == "old") tell(message, size, kOld.c_str());
  return how == "lost" || how == "old" ? nullptr : std::make_unique<FakeGpu>(index).release();
}

constexpr Plugin kPlugin{kPluginAbi, &count, &describe, &open};

}   // namespace
}   // namespace kedge::engine

extern "C" __attribute__((visibility("default"))) const kedge::engine::Plugin* kedge_cuda_plugin() {
  return &kedge::engine::kPlugin;
}
