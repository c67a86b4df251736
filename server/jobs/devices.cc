// The devices of this host: see devices.h.
#include "server/jobs/devices.h"
#include "server/jobs/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kedge::server {
namespace {

bool is_cuda(std::string_view id) { return id.starts_with("cuda"); }

}  // namespace

DeviceTable::DeviceTable(std::vector<schema::DeviceEntry> entries, const std::vector<std::string>& allowed)
    : entries_(std::move(entries)) {
  for (schema::DeviceEntry& entry : entries_)
    if (entry.missing.empty() && !allowed.empty() && std::ranges::find(allowed, entry.id) == allowed.end())
      entry.missing = fmt::format("this server runs workers only for {}", fmt::join(allowed, ", "));
}

std::vector<std::string> DeviceTable::usable() const {
  std::vector<std::string> ids;
  for (const schema::DeviceEntry& entry : entries_)
    if (entry.missing.empty()) ids.push_back(entry.id);
  return ids;
}

bool DeviceTable::serves(std::string_view device, std::string_view wish) const {
  const std::vector<std::string> ids = usable();
  if (std::ranges::find(ids, device) == ids.end()) return false;
  if (device == kClusterId) return wish == kClusterId;
  if (wish == kAutoSmall && std::ranges::find(ids, "cpu") != ids.end()) return device == "cpu";
  if (wish == "auto" || wish == kAutoSmall) return is_cuda(device) || std::ranges::none_of(ids, is_cuda);
  if (wish == "cuda") return is_cuda(device);
  return device == wish;
}

std::string DeviceTable::missing_reason(std::string_view wish) const {
  if (wish == kAutoSmall) wish = "auto";
  if (wish == kClusterId && std::ranges::find(entries_, kClusterId, &schema::DeviceEntry::id) == entries_.end())
    return "device \"cluster\" is not available: this server has no ranks, see the setting cluster-ranks";
  const std::vector<std::string> ids = usable();
  for (const std::string& id : ids)
    if (serves(id, wish)) return {};
  std::string reasons;
  for (const schema::DeviceEntry& entry : entries_) {
    const bool meant = wish == "auto" || entry.id == wish || (wish == "cuda" && is_cuda(entry.id)) || entry.id == "cuda";
    if (entry.missing.empty() || !meant || (entry.id == "cuda" && !is_cuda(wish) && wish != "auto")) continue;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", entry.id, entry.missing);
  }
  if (reasons.empty())
    reasons = ids.empty() ? "this server has no devices" : fmt::format("this server has {}", fmt::join(ids, ", "));
  return fmt::format("device \"{}\" is not available: {}", wish, reasons);
}

void DeviceTable::update(const schema::DeviceEntry& entry) {
  const auto found = std::ranges::find(entries_, entry.id, &schema::DeviceEntry::id);
  if (found == entries_.end()) return;
  std::string driver = entry.driver.empty() ? std::move(found->driver) : entry.driver;   // of the ranks: their launcher
  *found = entry, found->driver = std::move(driver);
}

void DeviceTable::set_missing(std::string_view device, std::string reason) {
  const auto found = std::ranges::find(entries_, device, &schema::DeviceEntry::id);
  if (found != entries_.end()) found->missing = std::move(reason);
}

}  // namespace kedge::server
