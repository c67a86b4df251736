// The devices of this host, and which of them a job's wish can be served by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/catalogue.h"

namespace kedge::server {

// The wish "auto" of a job with a small data set: the CPU, where there is one. No job can ask for it.
inline constexpr std::string_view kAutoSmall = "auto:small";

// A value. Wishes are "auto", "cpu", "cuda", "cuda:N", "cluster"; devices are "cpu", "cuda:N" and "cluster". "auto"
// never means the ranks of a cluster.
class DeviceTable {
 public:
  DeviceTable() = default;
  // `allowed`: the devices to run workers for; empty: all. The others are listed as missing, with that reason.
  DeviceTable(std::vector<schema::DeviceEntry> entries, const std::vector<std::string>& allowed);

  const std::vector<schema::DeviceEntry>& entries() const { return entries_; }
  std::vector<std::string> usable() const;

  // "auto" means CUDA where there is a CUDA device, otherwise the CPU.
  bool serves(std::string_view device, std::string_view wish) const;
  // Why no device serves the wish; empty if one does.
  std::string missing_reason(std::string_view wish) const;

  void update(const schema::DeviceEntry& entry);                     // what a worker says of its device
  void set_missing(std::string_view device, std::string reason);     // empty reason: usable again

 private:
  std::vector<schema::DeviceEntry> entries_;
};

}  // namespace kedge::server
