// Requests are gathered by warp and instruction until the block meets, then their addresses are looked at together.
#include "tests/gpu_model/tracer.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/backend/emulated/tensor.h"

extern "C" char __data_start, _end;   // the linker's: where variables of the program lie, __shared__ ones among them

namespace kedge::gpu_model {
namespace {

using engine::emulated::running;

constexpr std::uintptr_t kSectorBytes = 32;
constexpr unsigned kBanks = 32, kBankBytes = 4;

double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One line for each size of block, where the kernel is compiled for several.
std::string name_of(const engine::emulated::Launch& launch, unsigned threads) {
  const std::string name = launch.name;
  return name.find("kThreads") == std::string::npos
             ? name
             : fmt::format("{} of {} threads", name.substr(0, name.find('<')), threads);
}

// The different ones of at most 64 + 64 numbers, in place.
template <class Iterator>
Iterator distinct(Iterator begin, Iterator end) {
  std::sort(begin, end);
  return std::unique(begin, end);
}

}   // namespace

bool Tracer::Touched::add(std::uintptr_t sector) {
  const std::size_t word = sector / 64;
  if (word >= bits.size()) bits.resize(word + word / 2 + 1);
  const std::uint64_t bit = std::uint64_t{1} << (sector % 64), before = bits[word];
  if (before & bit) return false;
  if (before == 0) words.push_back(word);
  bits[word] |= bit;
  return true;
}

void Tracer::Touched::clear() {
  for (const std::size_t word : words) bits[word] = 0;
  words.clear();
}

Trace Tracer::take() {
  add_host_seconds();
  return std::exchange(trace_, {});
}

void Tracer::add_host_seconds() {
  const double now = process_seconds();
  trace_.flow.host_seconds += now - left_at_;
  left_at_ = now;
}

void Tracer::enters() {
  if (depth_++ == 0) add_host_seconds();
}

void Tracer::leaves() {
  if (--depth_ == 0) left_at_ = process_seconds();
}

void Tracer::launch_begins(const engine::emulated::Launch& launch, const void* region, const void* shared) {
  region_ = reinterpret_cast<std::uintptr_t>(region);
  shared_ = reinterpret_cast<std::uintptr_t>(shared), shared_end_ = shared_ + launch.shared_bytes;
  const double blocks = double{1} * launch.grid.x * launch.grid.y * launch.grid.z;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  current_ = &trace_.kernels[name_of(launch, threads)];
  (is_recording_ ? current_->nodes : current_->launches) += 1;
  current_->blocks += blocks, current_->warps += blocks * ((threads + kLanes - 1) / kLanes);
  warps_.resize((threads + kLanes - 1) / kLanes);
  accesses_.assign(threads, 0);
  longest_ = 0;
}

void Tracer::block_begins() {
  count_threads();
  in_block_.clear();
  std::ranges::fill(accesses_, 0);
}

Tracer::Space Tracer::space_of(std::uintptr_t address) const {
  if (address - region_ < engine::emulated::kRegionBytes) return Space::kGlobal;
  if (address >= shared_ && address < shared_end_) return Space::kShared;
  const bool is_variable =
      address >= reinterpret_cast<std::uintptr_t>(&__data_start) && address < reinterpret_cast<std::uintptr_t>(&_end);
  return is_variable ? Space::kShared : Space::kOther;
}

void Tracer::access(const void* pc, const void* p, unsigned bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const Space space = space_of(address);
  if (space == Space::kOther) return;   // a thread's own: registers, mostly
  const unsigned rank = running->fiber().rank, lane = rank % kLanes;
  // A function may be called with either: no instruction lies one byte behind a call.
  const void* const place = static_cast<const char*>(pc) + (space == Space::kShared ? 1 : 0);
  Instruction& instruction = warps_[rank / kLanes][place];
  const std::uint32_t time = instruction.times[lane]++;
  if (time == instruction.requests.size()) instruction.requests.emplace_back();
  Request& request = instruction.requests[time];
  request.address[lane] = address, request.lanes |= 1u << lane;
  instruction.bytes = bytes;
  if (space == Space::kGlobal) ++accesses_[rank];
}

void Tracer::basic_block(const void* pc) {
  ++blocks_run_[pc];
}

void Tracer::block_meets() {
  for (Warp& warp : warps_) {
    for (auto& [pc, instruction] : warp) {
      for (const Request& request : instruction.requests) {
        const auto lane = static_cast<unsigned>(std::countr_zero(request.lanes));
        if (space_of(request.address[lane]) == Space::kGlobal) count_global(instruction, request);
        else count_shared(instruction, request);
      }
    }
    warp.clear();
  }
}

// Of the block that has ended.
void Tracer::count_threads() {
  for (const std::uint32_t count : accesses_) {
    longest_ = std::max(longest_, static_cast<double>(count));
    current_->active += count > 0;
  }
}

void Tracer::count_global(const Instruction& instruction, const Request& request) {
  std::array<std::uintptr_t, 2 * kLanes> sectors;
  std::array<std::uintptr_t, kLanes> starts;
  std::size_t n = 0, lanes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(request.lanes >> lane & 1u)) continue;
    const std::uintptr_t offset = request.address[lane] - region_;
    starts[lanes++] = offset;
    sectors[n++] = offset / kSectorBytes, sectors[n++] = (offset + instruction.bytes - 1) / kSectorBytes;
  }
  const auto end = distinct(sectors.begin(), sectors.begin() + static_cast<std::ptrdiff_t>(n));
  const auto values = distinct(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(lanes)) - starts.begin();
  current_->requests += 1;
  current_->sectors += static_cast<double>(end - sectors.begin());
  current_->ideal_sectors +=
      static_cast<double>((static_cast<std::size_t>(values) * instruction.bytes + kSectorBytes - 1) / kSectorBytes);
  for (auto sector = sectors.begin(); sector != end; ++sector) {
    if (!in_block_.add(*sector)) continue;
    current_->block_sectors += 1;
    if (in_launch_.add(*sector)) current_->launch_sectors += 1;
  }
}

// A pass serves 32 banks of 4 bytes, the same word to any number of lanes; wider values go by parts of the warp.
void Tracer::count_shared(const Instruction& instruction, const Request& request) {
  const unsigned per_pass = std::max(1u, kLanes * kBankBytes / std::max(instruction.bytes, kBankBytes));
  for (unsigned first = 0; first < kLanes; first += per_pass) {
    std::array<std::uintptr_t, 4 * kLanes> words;
    std::size_t n = 0;
    for (unsigned lane = first; lane < first + per_pass; ++lane) {
      if (!(request.lanes >> lane & 1u)) continue;
      for (std::uintptr_t p = request.address[lane] / kBankBytes;
           p <= (request.address[lane] + instruction.bytes - 1) / kBankBytes && n < words.size(); ++p)
        words[n++] = p;
    }
    if (n == 0) continue;
    std::array<unsigned, kBanks> by_bank{};
    const auto end = distinct(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
    for (auto word = words.begin(); word != end; ++word) ++by_bank[*word % kBanks];
    current_->shared_passes += *std::ranges::max_element(by_bank);
    current_->ideal_shared_passes += 1;
  }
}

void Tracer::launch_ends() {
  count_threads();
  for (const auto& [pc, times] : blocks_run_) {
    const auto cost = instructions_.find(reinterpret_cast<std::uintptr_t>(pc));
    if (cost == instructions_.end()) continue;
    const auto n = static_cast<double>(times);
    current_->f32 += n * cost->second.f32, current_->f64 += n * cost->second.f64,
        current_->special += n * cost->second.special;
    current_->instructions += n * cost->second.all;
  }
  blocks_run_.clear();
  current_->tensor += std::exchange(engine::emulated::tensor_operations, 0);
  current_->chain += longest_;
  in_block_.clear(), in_launch_.clear();
  current_ = nullptr;
}

void Tracer::atomic(const void* p, std::size_t bytes) {
  access(__builtin_return_address(0), p, static_cast<unsigned>(bytes));
  if (current_ && space_of(reinterpret_cast<std::uintptr_t>(p)) == Space::kGlobal) current_->atomics += 1;
}

void Tracer::library(const char* what, std::size_t value_bytes, double operations, double bytes) {
  Counts& counts = trace_.kernels[std::string("library: ") + what + (value_bytes == 8 ? " f64" : " f32")];
  (is_recording_ ? counts.nodes : counts.launches) += 1;
  counts.library_bytes += bytes;
  (value_bytes == 8 ? counts.f64 : counts.f32) += operations;
}

void Tracer::copied(engine::emulated::Copy kind, std::size_t bytes) {
  using engine::emulated::Copy;
  Flow& flow = trace_.flow;
  flow.copies += 1;
  if (kind == Copy::kToDevice) flow.to_device += static_cast<double>(bytes);
  else if (kind == Copy::kToHost) flow.to_host += static_cast<double>(bytes), flow.waits += 1;
  else flow.within += static_cast<double>(bytes);
}

void Tracer::allocated(std::size_t bytes) {
  trace_.flow.allocations += 1, trace_.flow.allocated_bytes += static_cast<double>(bytes);
}

}   // namespace kedge::gpu_model
