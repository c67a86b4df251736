// Ranks over NCCL, as far as one GPU goes: one rank, whose calls must give back what it brought.
#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "engine/comm/nccl.h"
#include "engine/comm/self.h"
#include "gpu_check/clock.h"
#include "gpu_check/section.h"

namespace kedge::gpu_check {
namespace {

using namespace engine;

constexpr std::size_t kSmall = 1000, kLarge = std::size_t{6} << 20;   // the larger one takes two pieces of the stage

std::vector<std::int64_t> numbers(std::size_t n) {
  std::vector<std::int64_t> all(n);
  std::iota(all.begin(), all.end(), std::int64_t{-7} << 40);
  return all;
}

void check_calls(Comm& comm, Finding& finding) {
  const auto expect = [&](bool same, const char* call) {
    if (!same) finding.disagreements.push_back(fmt::format("{} of one rank changed what it brought", call));
  };
  for (const std::size_t n : {kSmall, kLarge}) {
    const std::vector<std::int64_t> sent = numbers(n);
    std::vector<std::int64_t> got = sent, part(n);
    comm.all_reduce(got, IntegerOp::kSum);
    expect(got == sent, "all_reduce");
    comm.reduce_scatter(sent, part);
    expect(part == sent, "reduce_scatter");
    comm.broadcast(std::as_writable_bytes(std::span(got)), 0);
    expect(got == sent, "broadcast");
    PartedBytes bytes;
    bytes.add(std::as_bytes(std::span(sent)));
    expect(comm.all_gather(std::as_bytes(std::span(sent))) == bytes, "all_gather");
    expect(comm.all_to_all(bytes) == bytes, "all_to_all");
  }
  std::vector<double> doubles(kSmall);
  std::iota(doubles.begin(), doubles.end(), -0.5);
  std::vector<double> least = doubles;
  comm.all_reduce(least, OrderOp::kMin);
  expect(least == doubles, "all_reduce of doubles");
}

double reduce_seconds(Comm& comm, std::size_t n) {
  std::vector<std::int64_t> values(n);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    comm.all_reduce(values, IntegerOp::kSum);
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

Finding check(int device) {
  const std::unique_ptr<Comm> self = make_self_comm();
  const std::unique_ptr<NcclComm> nccl = open_nccl(*self, {.device = device});
  Finding finding;
  check_calls(*nccl, finding);
  constexpr double kMicro = 1e6, kGiga = 1e9;
  finding.measures = {
      {nccl->library() + ", all-reduce of 8 bytes, one rank", reduce_seconds(*nccl, 1) * kMicro, "µs"},
      {nccl->library() + ", all-reduce of 48 MiB, one rank",
       static_cast<double>(kLarge * sizeof(std::int64_t)) / reduce_seconds(*nccl, kLarge) / kGiga, "GB/s"}};
  nccl->finish();
  return finding;
}

}   // namespace

std::vector<Item> rank_items(Bench& bench) {
  const NcclOptions options;
  void* const library = ::dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {};
  ::dlclose(library);
  const int device = bench.device().info().index;
  return {{"calls of one rank over NCCL", [device] { return check(device); }}};
}

}   // namespace kedge::gpu_check
