// What the device reaches: copies, products of matrices by type, launches and waits. Each is measured on as much as
// takes some milliseconds, so that a slow device is not kept long.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "engine/core/array.h"
#include "gpu_check/clock.h"
#include "gpu_check/section.h"

namespace kedge::gpu_check {
namespace {

using engine::Array;
using engine::Device;
using engine::Matrix;
using engine::Memory;

constexpr double kEnoughSeconds = 0.02;   // of one run, beside which the clock and a launch are small
constexpr int kRuns = 5;                  // of which the median counts

template <class F>
double median_seconds(Memory& memory, F&& work) {
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) times.push_back(seconds_of(memory, work));
  std::ranges::nth_element(times, times.begin() + kRuns / 2);
  return times[kRuns / 2];
}

// Work on n is tried with n doubled until it takes long enough; then measured. Returns n over seconds.
struct Rate {
  std::int64_t n;
  double seconds;
};
template <class MakeWork>
Rate rate_of(Memory& memory, std::int64_t least, std::int64_t most, std::int64_t step, MakeWork&& make_work) {
  for (std::int64_t n = least;; n *= step) {
    auto work = make_work(n);
    work();   // the first time loads code and makes workspaces
    if (seconds_of(memory, work) >= kEnoughSeconds || n * step > most) return {n, median_seconds(memory, work)};
  }
}

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr double kGiga = 1e9;

// A quarter of the device's memory at most.
std::int64_t most_bytes(Device& device) {
  const std::int64_t memory = device.info().memory_bytes;
  return std::clamp(memory / 4, kMiB, 1024 * kMiB);
}

Finding upload(Device& device) {
  Memory& memory = device.memory();
  std::vector<std::uint8_t> host, back;
  const std::int64_t most = std::min(most_bytes(device), 256 * kMiB);
  const auto up = rate_of(memory, kMiB, most, 4, [&](std::int64_t n) {
    host.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < host.size(); i += 61) host[i] = static_cast<std::uint8_t>(i * 37 >> 3);
    auto there = std::make_shared<Array<std::uint8_t>>(memory, n);
    return [&memory, &host, there] { memory.to_device(there->data(), host.data(), host.size()); };
  });
  const Array<std::uint8_t> there(memory, std::span<const std::uint8_t>(host));
  back.resize(host.size());
  const double down = median_seconds(memory, [&] { memory.to_host(back.data(), there.data(), back.size()); });
  const double bytes = static_cast<double>(host.size());
  Finding found{.measures = {{"upload of pageable memory", bytes / up.seconds / kGiga, "GB/s"},
                             {"download to pageable memory", bytes / down / kGiga, "GB/s"}}};
  if (back != host) found.disagreements.push_back("bytes that went up and came down are not the same");
  return found;
}

Finding device_copy(Device& device) {
  Memory& memory = device.memory();
  const std::int64_t most = most_bytes(device) / 2;
  const auto zeroed = rate_of(memory, kMiB, most, 4, [&](std::int64_t n) {
    auto to = std::make_shared<Array<std::uint8_t>>(memory, n);
    return [to] { to->zero(); };
  });
  const auto copied = rate_of(memory, kMiB, most, 4, [&](std::int64_t n) {
    auto from = std::make_shared<Array<std::uint8_t>>(memory, n), to = std::make_shared<Array<std::uint8_t>>(memory, n);
    from->zero();
    return [&memory, from, to] { memory.copy(to->data(), from->data(), static_cast<std::size_t>(to->size())); };
  });
  return {.measures = {{"copy within the device, read and written",
                        2 * static_cast<double>(copied.n) / copied.seconds / kGiga, "GB/s"},
                       {"setting memory to zero", static_cast<double>(zeroed.n) / zeroed.seconds / kGiga, "GB/s"}}};
}

template <class T>
Finding product(Device& device) {
  constexpr std::int64_t kLeast = 32, kMost = 8192;
  Memory& memory = device.memory();
  engine::Backend<T>& ops = device.ops<T>();
  const auto reached = rate_of(memory, kLeast, kMost, 2, [&](std::int64_t n) {
    auto a = std::make_shared<Matrix<T>>(memory, n, n), b = std::make_shared<Matrix<T>>(memory, n, n),
         c = std::make_shared<Matrix<T>>(memory, n, n);
    ops.rows->fill_normal(1, 1, a->view());
    ops.rows->fill_normal(1, 2, b->view());
    return [&ops, a, b, c] {
      constexpr auto kNo = engine::Transpose::kNo;
      ops.linear->gemm(kNo, kNo, T(1), std::as_const(*a).view(), std::as_const(*b).view(), T(0), c->view());
    };
  });
  const double n = static_cast<double>(reached.n);
  return {.measures = {{"product of two square matrices, " + std::to_string(reached.n) + " rows",
                        2 * n * n * n / reached.seconds / 1e12, "TFLOP/s"}}};
}

// The smallest kernel there is, many times, and a wait after each or after all.
Finding launches(Device& device) {
  constexpr std::int64_t kLeast = 16, kMost = 4096;
  constexpr double kMicro = 1e6;
  Memory& memory = device.memory();
  Matrix<float> one(memory, 1, 1);
  const auto launch = [&] { device.f32().rows->fill_normal(1, 1, one.view()); };
  const auto many = rate_of(memory, kLeast, kMost, 4, [&](std::int64_t n) {
    return [&, n] {
      for (std::int64_t i = 0; i < n; ++i) launch();
    };
  });
  const auto waited = rate_of(memory, kLeast, kMost, 4, [&](std::int64_t n) {
    return [&, n] {
      for (std::int64_t i = 0; i < n; ++i) {
        launch();
        memory.synchronize();
      }
    };
  });
  return {.measures = {{"launch of a small kernel", many.seconds / static_cast<double>(many.n) * kMicro, "µs"},
                       {"the same, and a wait for it", waited.seconds / static_cast<double>(waited.n) * kMicro, "µs"}}};
}

}   // namespace

std::vector<Item> limit_items(Bench& bench) {
  Device& device = bench.device();
  return {{"upload and download", [&device] { return upload(device); }},
          {"copy within the device", [&device] { return device_copy(device); }},
          {"launch and wait", [&device] { return launches(device); }},
          {"product in float32", [&device] { return product<float>(device); }},
          {"product in float64", [&device] { return product<double>(device); }}};
}

}   // namespace kedge::gpu_check
