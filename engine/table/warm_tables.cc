// See warm_tables.h.
#include "engine/table/warm_tables.h"

#include <algorithm>

namespace kedge::engine {
namespace {

constexpr std::size_t kTablesOfAGpu = 8;
constexpr std::int64_t kShareOfAGpu = 4;                             // one part of so many of its memory
constexpr std::int64_t kUnknownGpuBytes = std::int64_t{256} << 20;   // where it does not say how much it has

template <class T>
std::int64_t bytes_of(const Array<T>& array) {
  return array.size() * static_cast<std::int64_t>(sizeof(T));
}
template <class T>
std::int64_t bytes_of(const std::vector<T>& values) {
  return std::ssize(values) * static_cast<std::int64_t>(sizeof(T));
}

}   // namespace

template <class T>
std::int64_t size_in_bytes(const Table<T>& table) {
  std::int64_t bytes = table.X.rows() * table.X.cols() * static_cast<std::int64_t>(sizeof(T));
  if (table.sparse)
    bytes += table.sparse->n_entries() * static_cast<std::int64_t>(sizeof(T) + 4) + table.sparse->rows() * 8;
  if (table.binned)
    bytes += bytes_of(table.binned->codes) + bytes_of(table.binned->row_codes) + bytes_of(table.binned->records);
  for (const ColumnPart<T>& part : table.parts) bytes += size_in_bytes(*part.table);
  if (table.dense) bytes += size_in_bytes(*table.dense);
  return bytes;
}

std::int64_t size_in_bytes(const Target& target) {
  return bytes_of(target.codes) + bytes_of(target.values) + bytes_of(target.weights);
}

WarmTables::Bounds WarmTables::usual_bounds(const DeviceInfo& device) {
  if (device.kind == DeviceKind::kCpu) return {};
  return {.tables = kTablesOfAGpu,
          .bytes = device.memory_bytes > 0 ? device.memory_bytes / kShareOfAGpu : kUnknownGpuBytes};
}

template <class T>
std::shared_ptr<Table<T>> WarmTables::find(const std::string& data, const Selection& selection) {
  const auto found = std::ranges::find_if(tables_, [&](const Kept& kept) {
    return std::holds_alternative<std::shared_ptr<Table<T>>>(kept.table) && kept.data == data &&
           kept.selection == selection;
  });
  if (found == tables_.end()) return nullptr;
  tables_.splice(tables_.begin(), tables_, found);
  return std::get<std::shared_ptr<Table<T>>>(found->table);
}

template <class T>
void WarmTables::add(const std::string& data, const Selection& selection, std::shared_ptr<Table<T>> table) {
  tables_.push_front({data, selection, std::move(table)});
  shrink(bounds_.tables);
}

std::shared_ptr<const TaskTarget> WarmTables::find_target(const schema::Select& select, TargetKind kind) const {
  if (tables_.empty() || !tables_.front().target) return nullptr;
  const Kept& kept = tables_.front();
  return kept.target->kind == kind && kept.select == select ? kept.target : nullptr;
}

void WarmTables::keep_target(const schema::Select& select, std::shared_ptr<const TaskTarget> target) {
  if (!tables_.empty()) tables_.front().select = select, tables_.front().target = std::move(target);
}

void WarmTables::shrink(std::size_t count) {
  while (tables_.size() > count || (bounds_.bytes > 0 && older_bytes() > bounds_.bytes)) tables_.pop_back();
}

std::int64_t WarmTables::older_bytes() const {
  std::int64_t bytes = 0;
  for (auto kept = tables_.begin(); kept != tables_.end(); ++kept) {
    if (kept == tables_.begin()) continue;
    bytes += std::visit([](const auto& table) { return size_in_bytes(*table); }, kept->table);
    if (kept->target) bytes += size_in_bytes(*kept->target);
  }
  return bytes;
}

template std::int64_t size_in_bytes(const Table<float>&);
template std::int64_t size_in_bytes(const Table<double>&);
template std::shared_ptr<Table<float>> WarmTables::find(const std::string&, const Selection&);
template std::shared_ptr<Table<double>> WarmTables::find(const std::string&, const Selection&);
template void WarmTables::add(const std::string&, const Selection&, std::shared_ptr<Table<float>>);
template void WarmTables::add(const std::string&, const Selection&, std::shared_ptr<Table<double>>);

}   // namespace kedge::engine
