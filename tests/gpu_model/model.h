// From counts to seconds: a roofline for each kernel, over the levels of memory, the units and the longest thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu_model/tracer.h"

namespace kedge::gpu_model {

// A GPU by its data sheet; what no sheet says is marked as assumed. Bytes, operations and seconds, all per second or
// each.
struct Machine {
  std::string_view name;
  double multiprocessors, clock;   // boost clock, Hz
  double memory_rate;              // of a copy that reads and writes: 0.9 of the sheet's, which is what copies reach
  double cache_rate;   // second level, assumed: 2.2 of the memory's rate on Hopper and Ampere, 3 on smaller ones
  double f32_rate, f64_rate;   // of fma counted as two, without tensor cores
  double tensor_rate;          // of bfloat16 with sums in float, by mma.sync
  double host_rate;            // between pageable host memory and the device, assumed
  // As engine/backend/cuda/double_units.h says: some kernels have another body there.
  constexpr bool has_few_double_units() const { return f32_rate > 8 * f64_rate; }
};
std::span<const Machine> machines();

// Costs that are the same on all of them, assumed from what CUDA's users measure: a launch, a wait of the host, a
// library's call.
inline constexpr double kLaunch = 2.5e-6, kWait = 8e-6, kLibraryCall = 5e-6;
// A kernel of recorded steps, which a CUDA graph starts without the host, and the call that starts all of them.
// NVIDIA's "Getting Started with CUDA Graphs" (2019) has 3.4 us a kernel of 2.9 us on a V100 (3.8 us by launches);
// twice the rest is assumed. The call: 2.5 us from CUDA 12.6 on, whatever their number ("Constant Time Launch for
// Straight-Line CUDA Graphs", 2024). A library's call is two kernels, which is what cuBLAS took for products of batches
// on an H200.
inline constexpr double kNode = 1e-6, kRecording = 2.5e-6, kLibraryNode = 2 * kNode;
inline constexpr double kLatency = 0.5e-6;   // of one access to memory
inline constexpr double kInFlight = 4;       // accesses that one thread has under way

// A kernel's name without its namespace and types' spaces, as "(score_columns<Counted>)" is "score_columns".
std::string short_name(std::string name);

// Seconds of all launches of a kernel.
double seconds(const Machine& machine, const std::string& kernel, const Counts& counts);
// Seconds that copies between host and device, and waits, take.
double flow_seconds(const Machine& machine, const Flow& flow);

// How counts grow with the rows n: c0 + c1 f(n) + c2 n^2, through as many sizes as there are terms.
enum class Growth { kLinear, kQuadratic, kLogarithmic };   // f: n; n and n^2; n log2 n
// Steps that a job makes one after another, whose number is known at the size that counts are continued to: the levels
// of trees. `kernel`, by its short name, is launched once in each.
struct Steps {
  std::string kernel = {};   // empty: none is known
  double count = 0;
  std::string of_rows = {};   // the kernel whose longest thread follows the rows all the same
};
// What a run at `rows` would count. `traces` were taken at `sizes`, two of them, or three for kQuadratic. A count that
// hardly grows with n, such as that of iterations, is taken as the largest one counted. Launches, longest threads and
// waits follow the steps, linearly, where their number is known.
Trace extrapolate(Growth growth, std::span<const double> sizes, std::span<const Trace> traces, double rows,
                  const Steps& steps = {});

}   // namespace kedge::gpu_model
