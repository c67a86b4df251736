// The CPU as a device: host memory, OpenMP threads, OpenBLAS.
#include "engine/backend/cpu/cpu_device.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/linear/blas_core.h"
#include "engine/backend/host/huge_pages.h"
#include "engine/backend/trees_factory.h"
#include "engine/core/process_memory.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kLarge = std::size_t{4} << 20;   // new pages of 4 KiB cost more than filling them

constexpr std::size_t kPiece = std::size_t{32} << 20;  // copied between two looks whether the job is to stop
constexpr std::size_t kChecked = std::size_t{64} << 20;   // looking takes 100 us

// An array larger than what is left would be granted, and the worker killed while filling it.
void require_available(std::size_t bytes) {
  constexpr double kMib = 1 << 20;
  auto available = static_cast<std::size_t>(available_memory());
  if (bytes > available) {
    give_back_freed_memory();
    available = static_cast<std::size_t>(available_memory());
  }
  require(bytes <= available, schema::ErrorCode::kOutOfMemory,
          "an array of {:.0f} MiB is needed, {:.0f} MiB of memory are available", static_cast<double>(bytes) / kMib,
          static_cast<double>(available) / kMib);
}

class CpuMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) override {
    void* p = nullptr;
    if (bytes >= kChecked) require_available(bytes);
    require(posix_memalign(&p, bytes < kLarge ? kAlignment : kHugePage, bytes ? bytes : 1) == 0, schema::ErrorCode::kOutOfMemory,
            "no memory for {} bytes", bytes);
    if (bytes >= kLarge) advise_huge_pages(p, static_cast<std::int64_t>(bytes));
    return p;
  }
  void deallocate(void* p) noexcept override { std::free(p); }
  void to_device(void* device, const void* host, std::size_t bytes) override { copy_pieces(device, host, bytes); }
  void to_host(void* host, const void* device, std::size_t bytes) override { copy_pieces(host, device, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    check_job_stop();
    std::memmove(to, from, bytes);
  }
  void zero(void* p, std::size_t bytes) override {
    for_pieces(bytes, [&](std::size_t at, std::size_t size) { std::memset(static_cast<std::byte*>(p) + at, 0, size); });
  }
  void synchronize() override {}

 private:
  // Gigabytes take seconds, and a cancelled job ends between two pieces.
  template <class Work>
  static void for_pieces(std::size_t bytes, Work&& work) {
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      check_job_stop();
      work(at, std::min(kPiece, bytes - at));
    }
  }
  static void copy_pieces(void* to, const void* from, std::size_t bytes) {
    for_pieces(bytes, [&](std::size_t at, std::size_t size) {
      std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at, size);
    });
  }
};

// Starts the threads and takes their BLAS buffers, so that no job pays for it.
void warm_up() {
  take_blas_buffers(omp_get_max_threads());
#pragma omp parallel
  {
    const float a[4] = {}, b[4] = {};
    float c[4];
    blas::gemm(Transpose::kNo, Transpose::kNo, 2, 2, 2, 1.0f, a, 2, b, 2, 0.0f, c, 2);
  }
}

class CpuDevice final : public Device {
 public:
  CpuDevice() : info_(describe_cpu()), trees_(make_cpu_trees(memory_)) { warm_up(); }
  const DeviceInfo& info() const override { return info_; }
  DeviceTraits traits() const override { return {.uses_host_memory = true, .concurrent_fits = info_.threads}; }
  Memory& memory() override { return memory_; }
  Backend<float>& f32() override { return f32_; }
  Backend<double>& f64() override { return f64_; }
  TreeOps& trees() override { return *trees_; }

 private:
  DeviceInfo info_;
  CpuMemory memory_;
  Backend<float> f32_ = make_cpu_backend<float>();
  Backend<double> f64_ = make_cpu_backend<double>();
  std::unique_ptr<TreeOps> trees_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}   // namespace

DeviceInfo describe_cpu() {
  DeviceInfo info;
  info.name = fmt::format("{} (OpenBLAS {})", processor_name(), blas_core());
  info.threads = omp_get_max_threads();
  info.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return info;
}

template <class T>
Backend<T> make_cpu_backend() {
  return {.tables = make_cpu_tables<T>(),
          .linear = make_cpu_linear<T>(),
          .factorise = make_cpu_factorise<T>(),
          .design = make_cpu_design<T>(),
          .rows = make_cpu_rows<T>(),
          .logistic = make_cpu_logistic<T>(),
          .neighbours = make_cpu_neighbours<T>(),
          .distances = make_cpu_distances<T>(),
          .bayes = make_cpu_bayes<T>(),
          .columns = make_cpu_columns<T>(),
          .categories = make_cpu_categories<T>(),
          .maps = make_cpu_maps<T>(),
          .clusters = make_cpu_clusters<T>(),
          .sparse = make_cpu_sparse<T>(),
          .convex = make_cpu_convex<T>(),
          .network = make_cpu_network<T>()};
}
template Backend<float> make_cpu_backend();
template Backend<double> make_cpu_backend();

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}   // namespace kedge::engine
