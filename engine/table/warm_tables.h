// Tables that stay on their device after a job with the target of their last run, so that a later job on the same part
// of the same data uploads nothing.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <variant>

#include "engine/core/device.h"
#include "engine/estimators/samples.h"
#include "engine/model_selection/task_data.h"
#include "engine/table/selection.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// Of one device. Holds tables with what runs have derived from them (bins, parts), and drops the least recently used
// ones beyond its bounds. A table that was dropped lives until the run that reads it ends.
class WarmTables {
 public:
  struct Bounds {
    std::size_t tables = 1;
    std::int64_t bytes = 0;   // of all tables but the most recently used one; 0: any
  };
  // A GPU keeps up to 8 tables in a quarter of its memory; the CPU one, which is quickly made from the mapped file.
  static Bounds usual_bounds(const DeviceInfo& device);

  WarmTables() = default;
  explicit WarmTables(const Bounds& bounds) : bounds_(bounds) {}

  // `data` names the content of a data file: two files of one name are equal. Null where there is none; otherwise the
  // table is now the most recently used one.
  template <class T>
  std::shared_ptr<Table<T>> find(const std::string& data, const Selection& selection);
  template <class T>
  void add(const std::string& data, const Selection& selection, std::shared_ptr<Table<T>> table);

  // Of the most recently used table: the target that its last run read, which its arrays on the device stay with. Null
  // where that run selected another part of the data, or another kind of target.
  std::shared_ptr<const TaskTarget> find_target(const schema::Select& select, TargetKind kind) const;
  void keep_target(const schema::Select& select, std::shared_ptr<const TaskTarget> target);

  // Drops until `count` tables and the bounds' bytes remain. Tables grow while a run uses them: call it again then.
  void shrink(std::size_t count);
  void make_room() { shrink(bounds_.tables - 1); }   // for one more
  void clear() { tables_.clear(); }
  std::size_t size() const { return tables_.size(); }

 private:
  struct Kept {
    std::string data;
    Selection selection;
    std::variant<std::shared_ptr<Table<float>>, std::shared_ptr<Table<double>>> table;
    schema::Select select = {};   // of the target
    std::shared_ptr<const TaskTarget> target = {};
  };
  std::int64_t older_bytes() const;   // of all but the most recently used one

  Bounds bounds_;
  std::list<Kept> tables_;   // the most recently used first
};

// Device memory of a table and of what was derived from it; of a target that was asked for on a device.
template <class T>
std::int64_t size_in_bytes(const Table<T>& table);
std::int64_t size_in_bytes(const Target& target);

}   // namespace kedge::engine
