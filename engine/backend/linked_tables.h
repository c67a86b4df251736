// Tables that a GPU's memory does not hold: they lie in host memory, and the GPU reads them over its link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/backend/backend.h"

namespace kedge::engine {

// Host memory that has addresses on the GPU: ops, libraries and copies take its pointers as those of device memory.
// What they read or write of it crosses the link each time, so it is for arrays that are written once and then read in
// long passes. Nothing may depend on atomics in it. It is pinned: allocate() and deallocate() take as long as clearing
// it, and deallocate() waits for all work of the GPU.
class LinkedMemory : public Memory {
 public:
  // Waits for the device's earlier ops, then calls `write` with where the host writes these bytes of an array. Ops that
  // are started later see them.
  virtual void write(void* linked, std::size_t bytes, const std::function<void(std::byte*)>& write) = 0;
};

// What a device has beside Device where it can read host memory. Its lanes follow it.
class LinkedTables {
 public:
  virtual ~LinkedTables() = default;
  virtual LinkedMemory& linked_memory() = 0;
  // From now on arrays that table_memory() is asked for lie in host memory if they have at least so many bytes; 0: all
  // lie in the device's. Not while a lane is at work.
  virtual void link_from(std::int64_t least_bytes) = 0;
  virtual std::int64_t linked_from() const = 0;
};

// Null for a device that cannot.
inline LinkedTables* linked_tables(Device& device) {
  return dynamic_cast<LinkedTables*>(&device);
}

// Where an array of so many bytes is linked: null where it belongs into the device's memory.
inline LinkedMemory* table_link(Device& device, std::int64_t bytes) {
  LinkedTables* const tables = linked_tables(device);
  const std::int64_t least = tables ? tables->linked_from() : 0;
  return least > 0 && bytes >= least ? &tables->linked_memory() : nullptr;
}

// For arrays with the rows and columns of a table: the table, rows taken from it, what a transformer makes of it.
inline Memory& table_memory(Device& device, std::int64_t bytes) {
  LinkedMemory* const link = table_link(device, bytes);
  return link ? static_cast<Memory&>(*link) : device.memory();
}

// A matrix there.
template <class T>
Matrix<T> table_matrix(Device& device, std::int64_t rows, std::int64_t cols) {
  return Matrix<T>(table_memory(device, rows * cols * static_cast<std::int64_t>(sizeof(T))), rows, cols);
}

// While it lives, arrays of tables from `least_bytes` on are linked; 0: nothing changes. Borrows the device.
class LinkScope {
 public:
  LinkScope(Device& device, std::int64_t least_bytes) : tables_(least_bytes > 0 ? linked_tables(device) : nullptr) {
    if (tables_) tables_->link_from(least_bytes);
  }
  ~LinkScope() {
    if (tables_) tables_->link_from(0);
  }
  LinkScope(const LinkScope&) = delete;
  LinkScope& operator=(const LinkScope&) = delete;

 private:
  LinkedTables* const tables_;
};

}   // namespace kedge::engine
