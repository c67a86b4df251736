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
}

RankIdentity read_identity(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  RankIdentity of;
  for (std::string* text : {&of.version, &of.processor, &of.kernels, &of.mpi, &of.host, &of.place}) *text = in.text();
  return of;
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
  return {.version = kVersion,
          .processor = list_devices().devices.front().name,
          .kernels = fmt::format("{:016x}{}{}", std::hash<std::string>()(flags), core ? " " : "", core ? core : ""),
          .mpi = std::move(mpi),
          .host = host_name(),
          .place = line_of("/proc/sys/kernel/random/boot_id", "") + " " + link_of("/proc/self/ns/net")};
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
    return fmt::format(
        "the ranks are not alike, so that results would depend on who computes them: the {} of rank {} on {} is '{}', of "
        "rank 0 on {} '{}'",
        part.name, rank, other.host, other.*part.member, first.host, first.*part.member);
  }
  return std::nullopt;
}

std::optional<std::string> difference(std::span<const RankIdentity> ranks) {
  for (std::size_t r = 1; r < ranks.size(); ++r)
    if (auto found = difference(ranks, r)) return found;
  return std::nullopt;
}

}   // namespace kedge::engine
