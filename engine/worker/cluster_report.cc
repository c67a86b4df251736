// What a check of a cluster has found: see cluster_report.h.
#include "engine/worker/cluster_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "schemas/codec.h"
#include "schemas/value.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr double kGib = 1 << 30;

std::vector<RankIdentity> identities(const ClusterReport& report) {
  std::vector<RankIdentity> all;
  for (const CheckedRank& rank : report.ranks) all.push_back(rank.identity);
  return all;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string device_names(const CheckedRank& rank) {
  std::string names;
  for (const schema::DeviceEntry& device : rank.devices)
    if (device.missing.empty()) names += fmt::format("{}{}: {}", names.empty() ? "" : "; ", device.id, device.name);
  return names;
}

Value json_of(const CheckedRank& rank, std::int64_t number) {
  ValueList devices;
  for (const schema::DeviceEntry& device : rank.devices) {
    ValueMap entry{{"id", device.id}, {"name", device.name}, {"memoryBytes", device.memoryBytes}};
    if (!device.missing.empty()) entry = {{"id", device.id}, {"missing", device.missing}};
    devices.emplace_back(std::move(entry));
  }
  ValueMap out{{"rank", number},
               {"host", rank.identity.host},
               {"version", rank.identity.version},
               {"mpi", rank.identity.mpi},
               {"processor", rank.identity.processor},
               {"processors", rank.processors},
               {"freeMemoryBytes", rank.free_memory},
               {"devices", std::move(devices)}};
  if (!rank.device.empty()) out.emplace_back("device", rank.device);
  if (rank.line) {
    out.emplace_back("latencySeconds", rank.line->latency_s);
    out.emplace_back("bytesPerSecond", rank.line->bytes_per_s);
  }
  return out;
}

ValueMap json_of(const ReduceTime& reduce) {
  return {{"sums", reduce.sums}, {"bytes", reduce.bytes()}, {"seconds", reduce.seconds}};
}

Value json_of(const NcclCheck& nccl) {
  if (!nccl.missing.empty()) return ValueMap{{"missing", nccl.missing}};
  ValueList reduces;
  for (const ReduceTime& reduce : nccl.reduces) reduces.emplace_back(json_of(reduce));
  return ValueMap{{"library", nccl.library}, {"allReduce", std::move(reduces)}};
}

Value texts(const std::vector<std::string>& lines) {
  ValueList all;
  for (const std::string& line : lines) all.emplace_back(line);
  return all;
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last one is not filled up.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c) text += fmt::format("{:<{}}  ", row[c], widths[c]);
    text += row.back() + "\n";
  }
  return text;
}

std::string count_text(const ReduceTime& reduce) {
  return fmt::format("{} exact sum{}", reduce.sums, reduce.sums == 1 ? "" : "s");
}

std::string text_of(const NcclCheck& nccl) {
  if (!nccl.missing.empty()) return fmt::format("note     {}\n", nccl.missing);
  std::vector<Row> rows{{"ALL-REDUCE BY " + nccl.library, "BYTES", "MEASURED"}};
  for (const ReduceTime& reduce : nccl.reduces)
    rows.push_back({count_text(reduce), std::to_string(reduce.bytes()), time_text(reduce.seconds)});
  return table(rows) + "\n";
}

}   // namespace

double reduce_over_lines(const ClusterReport& report, std::int64_t bytes) {
  LineSpeed slowest;
  for (const CheckedRank& rank : report.ranks) {
    if (!rank.line) continue;
    slowest.latency_s = std::max(slowest.latency_s, rank.line->latency_s);
    const bool is_first = slowest.bytes_per_s == 0;
    slowest.bytes_per_s = is_first ? rank.line->bytes_per_s : std::min(slowest.bytes_per_s, rank.line->bytes_per_s);
  }
  const auto n = static_cast<double>(report.ranks.size());
  const int steps = std::bit_width(report.ranks.size() - 1);   // ceil(log2 n)
  if (steps == 0) return 0;
  return 2 * steps * slowest.latency_s + 2 * (n - 1) / n * static_cast<double>(bytes) / slowest.bytes_per_s;
}

void compare_ranks(ClusterReport& report) {
  const std::vector<RankIdentity> ranks = identities(report);
  for (std::size_t r = 1; r < ranks.size(); ++r)
    if (auto found = difference(ranks, r)) report.problems.push_back(*std::move(found));
  std::map<std::string, std::vector<const CheckedRank*>> places;
  for (const CheckedRank& rank : report.ranks) places[rank.identity.place].push_back(&rank);
  for (const auto& [place, here] : places) {
    if (static_cast<std::int64_t>(here.size()) <= here[0]->processors) continue;
    report.notes.push_back(fmt::format("{} ranks on {} share {} processors, so they take turns, and times are longer",
                                       here.size(), here[0]->identity.host, here[0]->processors));
  }
}

std::string as_json(const ClusterReport& report) {
  ValueList ranks, reduces;
  for (const CheckedRank& rank : report.ranks) ranks.push_back(json_of(rank, static_cast<std::int64_t>(ranks.size())));
  for (const ReduceTime& reduce : report.reduces) {
    ValueMap entry = json_of(reduce);
    if (report.ranks.size() > 1) entry.emplace_back("secondsOverLines", reduce_over_lines(report, reduce.bytes()));
    reduces.emplace_back(std::move(entry));
  }
  return schema::value_to_json(ValueMap{{"well", report.problems.empty()},
                                        {"ranks", std::move(ranks)},
                                        {"allReduce", std::move(reduces)},
                                        {"nccl", json_of(report.nccl)},
                                        {"problems", texts(report.problems)},
                                        {"notes", texts(report.notes)}}) +
         "\n";
}

std::string as_text(const ClusterReport& report) {
  std::set<std::string> hosts;
  std::vector<Row> rows{
      {"RANK", "HOST", "VERSION", "PROCESSORS", "FREE MEMORY", "LATENCY", "BANDWIDTH", "RUNS ON", "DEVICES"}};
  for (const CheckedRank& rank : report.ranks) {
    hosts.insert(rank.identity.host);
    rows.push_back({std::to_string(rows.size() - 1), rank.identity.host, rank.identity.version,
                    std::to_string(rank.processors),
                    fmt::format("{:.1f} GiB", static_cast<double>(rank.free_memory) / kGib),
                    rank.line ? time_text(rank.line->latency_s) : "-",
                    rank.line ? fmt::format("{:.2f} GB/s", rank.line->bytes_per_s / 1e9) : "-",
                    rank.device.empty() ? "-" : rank.device, device_names(rank)});
  }
  std::vector<Row> reduces{{"ALL-REDUCE OF", "BYTES", "MEASURED", "OVER THE SLOWEST LINE"}};
  for (const ReduceTime& reduce : report.reduces)
    reduces.push_back({count_text(reduce), std::to_string(reduce.bytes()), time_text(reduce.seconds),
                       report.ranks.size() > 1 ? time_text(reduce_over_lines(report, reduce.bytes())) : "-"});
  std::string text = fmt::format("{} rank{} on {} host{}, {}\n\n{}\n{}\n", report.ranks.size(),
                                 report.ranks.size() == 1 ? "" : "s", hosts.size(), hosts.size() == 1 ? "" : "s",
                                 report.ranks[0].identity.mpi, table(rows), table(reduces));
  text += text_of(report.nccl);
  for (const std::string& note : report.notes) text += fmt::format("note     {}\n", note);
  for (const std::string& problem : report.problems) text += fmt::format("problem  {}\n", problem);
  return text + (report.problems.empty() ? "all well\n" : "jobs cannot run on these ranks\n");
}

}   // namespace kedge::engine
