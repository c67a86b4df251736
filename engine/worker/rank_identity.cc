// What the ranks of a group compare: see rank_identity.h.
#include "engine/worker/rank_identity.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include "engine/backend/cuda_driver.h"
#include "engine/backend/loader.h"
#include "engine/comm/bytes.h"
#include "engine/version.h"

namespace kedge::engine {
namespace {

std::string line_of(const char* file, std::string_view begin) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin)) return line;
  return {};
}

std::string link_of(const char* link) {
  std::error_code ignored;
  return std::filesystem::read_symlink(link, ignored).string();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

void write(const RankIdentity& of, ByteWriter& out) {
  for (const std::string* text : {&of.version, &of.processor, &of.kernels, &of.mpi, &of.host, &of.place})
    out.text(*text);
  out.number<std::uint64_t>(of.gpus.size());
  for (const RankGpu& gpu : of.gpus)
    for (const std::string* text : {&gpu.id, &gpu.name, &gpu.driver, &gpu.uuid}) out.text(*text);
  out.text(of.no_gpu);
}

RankIdentity read_identity(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  RankIdentity of;
  for (std::string* text : {&of.version, &of.processor, &of.kernels, &of.mpi, &of.host, &of.place}) *text = in.text();
  of.gpus.resize(in.number<std::uint64_t>());
  for (RankGpu& gpu : of.gpus)
    for (std::string* text : {&gpu.id, &gpu.name, &gpu.driver, &gpu.uuid}) *text = in.text();
  of.no_gpu = in.text();
  return of;
}

// "cuda:1" has the number 1 of the driver's list.
std::string uuid_of(const std::vector<std::string>& uuids, const std::string& id) {
  const std::size_t number = std::stoul(id.substr(id.find(':') + 1));
  return number < uuids.size() ? uuids[number] : std::string();
}

void add_gpus(const schema::DeviceList& list, RankIdentity& to) {
  const std::vector<std::string> uuids = cuda_uuids();
  for (const schema::DeviceEntry& entry : list.devices) {
    if (!entry.id.starts_with("cuda")) continue;
    if (entry.missing.empty()) to.gpus.push_back({entry.id, entry.name, entry.driver, uuid_of(uuids, entry.id)});
    else to.no_gpu += fmt::format("{}{}: {}", to.no_gpu.empty() ? "" : "; ", entry.id, entry.missing);
  }
}

}   // namespace

std::vector<RankIdentity> gather_identities(Comm& comm, const RankIdentity& own) {
  ByteWriter out;
  write(own, out);
  const PartedBytes all = comm.all_gather(out.bytes());
  std::vector<RankIdentity> ranks;
  for (int r = 0; r < all.size(); ++r) ranks.push_back(read_identity(all.part(r)));
  return ranks;
}

RankIdentity identity_of_this_rank(std::string mpi) {
  const char* const core = std::getenv("OPENBLAS_CORETYPE");
  const std::string flags = line_of("/proc/cpuinfo", "flags") + line_of("/proc/cpuinfo", "Features");
  const schema::DeviceList devices = list_devices();
  RankIdentity of{
      .version = kVersion,
      .processor = devices.devices.front().name,
      .kernels = fmt::format("{:016x}{}{}", std::hash<std::string>()(flags), core ? " " : "", core ? core : ""),
      .mpi = std::move(mpi),
      .host = host_name(),
      .place = line_of("/proc/sys/kernel/random/boot_id", "") + " " + link_of("/proc/self/ns/net")};
  add_gpus(devices, of);
  return of;
}

std::string unlike(std::string_view part, const RankHas& other, const RankHas& first) {
  return fmt::format(
      "the ranks are not alike, so that results would depend on who computes them: the {} of rank {} on {} is '{}', of "
      "rank {} on {} '{}'",
      part, other.rank, other.host, other.what, first.rank, first.host, first.what);
}

std::optional<std::string> difference(std::span<const RankIdentity> ranks, std::size_t rank) {
  struct Part {
    const char* name;
    std::string RankIdentity::* member;
  };
  constexpr std::array kParts{Part{"version", &RankIdentity::version}, Part{"processor", &RankIdentity::processor},
                              Part{"processor's features or OPENBLAS_CORETYPE", &RankIdentity::kernels},
                              Part{"MPI", &RankIdentity::mpi}};
  const RankIdentity &first = ranks[0], &other = ranks[rank];
  for (const Part& part : kParts) {
    if (other.*part.member == first.*part.member) continue;
    return unlike(part.name, {rank, other.host, other.*part.member}, {0, first.host, first.*part.member});
  }
  return std::nullopt;
}

std::optional<std::string> difference(std::span<const RankIdentity> ranks) {
  for (std::size_t r = 1; r < ranks.size(); ++r)
    if (auto found = difference(ranks, r)) return found;
  return std::nullopt;
}

}   // namespace kedge::engine
