// Data sheets: NVIDIA T4 (2018), L4 (2023), A100 80 GB SXM (2021), H100 SXM (2023).
#include "tests/gpu_model/model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kedge::gpu_model {
namespace {

constexpr double kSectorBytes = 32, kSharedBytesPerClock = 128, kIssuesPerClock = 4, kWarp = 32;
constexpr double kChance =
    0.3;   // of the rows' growth: counts that grow less follow the data, as iterations do, not the rows
constexpr double kFactorisationShare = 0.05;   // of the units' rate, assumed: cuSOLVER on at most some hundred columns

// Clock in GHz; rates of memory and host in GB/s, of arithmetic in 1e12 operations a second. `cache` is the second
// level's rate in rates of the memory. mma.sync reaches 0.6 of an H100's sheet, assumed. A T4 multiplies by its float
// units what newer GPUs give to tensor units (has_tensor_units()).
constexpr Machine machine(std::string_view name, double multiprocessors, double clock, double memory, double cache,
                          double f32, double f64, double tensor, double host) {
  return {.name = name,
          .multiprocessors = multiprocessors,
          .clock = clock * 1e9,
          .memory_rate = 0.9 * memory * 1e9,
          .cache_rate = cache * memory * 1e9,
          .f32_rate = f32 * 1e12,
          .f64_rate = f64 * 1e12,
          .tensor_rate = tensor * 1e12,
          .host_rate = host * 1e9};
}

constexpr Machine kMachines[] = {
    machine("T4", 40, 1.59, 320, 3, 8.1, 0.25, 8.1, 6),
    machine("L4", 58, 2.04, 300, 3, 30.3, 0.47, 121, 8),
    machine("A100", 108, 1.41, 2039, 2.2, 19.5, 9.7, 312, 8),
    machine("H100", 132, 1.98, 3350, 2.2, 67, 34, 590, 10),
};

bool is_factorisation(const std::string& kernel) {
  return std::ranges::any_of(std::array{"potrf", "syevd", "gesvd", "orgqr", "geqrf"},
                             [&](const char* name) { return kernel.find(name) != std::string::npos; });
}

std::array<double Counts::*, 20> counts_members() {
  return {&Counts::launches,       &Counts::nodes,         &Counts::blocks,
          &Counts::warps,          &Counts::active,        &Counts::requests,
          &Counts::sectors,        &Counts::ideal_sectors, &Counts::block_sectors,
          &Counts::launch_sectors, &Counts::shared_passes, &Counts::ideal_shared_passes,
          &Counts::atomics,        &Counts::f32,           &Counts::f64,
          &Counts::special,        &Counts::tensor,        &Counts::instructions,
          &Counts::chain,          &Counts::library_bytes};
}

std::array<double Flow::*, 9> flow_members() {
  return {&Flow::to_device,       &Flow::to_host, &Flow::copies,     &Flow::waits,       &Flow::allocations,
          &Flow::allocated_bytes, &Flow::within,  &Flow::recordings, &Flow::host_seconds};
}

// The value at x of the polynomial through the points (Lagrange).
double through(std::span<const double> at, std::span<const double> values, double x) {
  double sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    double term = values[i];
    for (std::size_t j = 0; j < at.size(); ++j)
      if (j != i) term *= (x - at[j]) / (at[i] - at[j]);
    sum += term;
  }
  return sum;
}

double launches_of(const Trace& trace, std::string_view short_name_of_kernel) {
  double sum = 0;
  for (const auto& [kernel, counts] : trace.kernels)
    if (short_name(kernel) == short_name_of_kernel) sum += counts.launches;
  return sum;
}

}   // namespace

std::string short_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '(' || c == ')'; });
  return name.starts_with("library: ") ? name.substr(9) : name.substr(0, name.find('<'));
}

std::span<const Machine> machines() {
  return kMachines;
}

double seconds(const Machine& machine, const std::string& kernel, const Counts& counts) {
  if (kernel.starts_with("library: ")) {
    const double share = is_factorisation(kernel) ? kFactorisationShare : 0.8;
    const double work = (counts.f32 / machine.f32_rate + counts.f64 / machine.f64_rate) / share;
    return counts.launches * kLibraryCall + counts.nodes * kLibraryNode +
           std::max(work, counts.library_bytes / machine.memory_rate);
  }
  // A launch of few blocks keeps few multiprocessors busy; some tens of them suffice to fill the memory's lines.
  // A kernel that needs one block for some thousand rows needs more for millions: its active threads say how many.
  const double per_block = kWarp * counts.warps / std::max(counts.blocks, 1.0);
  const double blocks =
      std::max(counts.blocks, counts.active / std::max(per_block, 1.0)) / std::max(counts.all_launches(), 1.0);
  const double busy = std::clamp(blocks / machine.multiprocessors, 1 / machine.multiprocessors, 1.0);
  const double clocks = machine.multiprocessors * machine.clock * busy;
  const double memory = counts.launch_sectors * kSectorBytes / (machine.memory_rate * std::min(1.0, 3 * busy));
  const double cache = counts.block_sectors * kSectorBytes / (machine.cache_rate * std::min(1.0, 2 * busy));
  const double near = (counts.sectors * kSectorBytes / kSharedBytesPerClock + counts.shared_passes) / clocks;
  // The sheets count a fused multiply-add as two operations, which any operation takes the time of.
  const double units =
      2 * (counts.f32 / machine.f32_rate + (counts.f64 + 8 * counts.special) / machine.f64_rate) / busy;
  const double tensor = counts.tensor / machine.tensor_rate / busy;
  const double issue = counts.instructions / kWarp / (kIssuesPerClock * clocks);
  const double chain = counts.chain * kLatency / kInFlight;
  return counts.launches * kLaunch + counts.nodes * kNode +
         std::max({memory, cache, near, units, tensor, issue, chain});
}

double flow_seconds(const Machine& machine, const Flow& flow) {
  return (flow.to_device + flow.to_host) / machine.host_rate + flow.waits * kWait + flow.recordings * kRecording +
         2 * flow.within / machine.memory_rate;
}

Trace extrapolate(Growth growth, std::span<const double> sizes, std::span<const Trace> traces, double rows,
                  const Steps& steps) {
  const auto scale = [&](double n) { return growth == Growth::kLogarithmic ? n * std::log2(n) : n; };
  std::vector<double> at, at_steps;
  for (const double n : sizes) at.push_back(scale(n));
  if (!steps.kernel.empty())
    for (const Trace& trace : traces) at_steps.push_back(launches_of(trace, steps.kernel));
  const auto value = [&](bool follows_steps, auto&& read) {
    std::vector<double> values;
    for (const Trace& trace : traces) values.push_back(read(trace));
    const double last = values.back(), first = values.front();
    if (follows_steps && !at_steps.empty()) return std::max(last, through(at_steps, values, steps.count));
    if (last <= first * (1 + kChance * (at.back() / at.front() - 1))) return std::max(first, last);
    return std::max(last, through(at, values, scale(rows)));
  };
  Trace result;
  for (const auto& [kernel, last] : traces.back().kernels) {
    Counts& counts = result.kernels[kernel];
    for (double Counts::* member : counts_members()) {
      const bool follows_steps =
          member == &Counts::launches || (member == &Counts::chain && short_name(kernel) != steps.of_rows);
      counts.*member = value(follows_steps, [&, &kernel = kernel](const Trace& trace) {
        const auto found = trace.kernels.find(kernel);
        return found == trace.kernels.end() ? 0.0 : found->second.*member;
      });
    }
  }
  for (double Flow::* member : flow_members()) {
    const bool follows_steps = member == &Flow::waits || member == &Flow::copies || member == &Flow::allocations;
    result.flow.*member = value(follows_steps, [&](const Trace& trace) { return trace.flow.*member; });
  }
  return result;
}

}   // namespace kedge::gpu_model
