// The terms of a vectoriser and their columns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/state_archive.h"
#include "engine/estimators/text/word_table.h"

namespace kedge::engine::text {

// Column j is of term j. A value; copies share the index of terms. find() is not thread safe the first time: see
// prepare().
class Vocabulary {
 public:
  Vocabulary() = default;
  // Terms one after the other; term j ends at ends[j].
  Vocabulary(std::string terms, std::vector<std::int64_t> ends) : terms_(std::move(terms)), ends_(std::move(ends)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view term(std::int64_t column) const {
    const auto at = static_cast<std::size_t>(column);
    const std::int64_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(terms_).substr(static_cast<std::size_t>(begin),
                                           static_cast<std::size_t>(ends_[at] - begin));
  }
  void prepare() const;                              // makes the index
  std::int32_t find(std::string_view term) const {   // -1: it has none. After prepare().
    return index_->find(term);
  }
  schema::ValueMap columns() const;   // by term
  std::vector<std::string> names() const;
  void state(StateArchive& archive);

 private:
  std::string terms_;
  std::vector<std::int64_t> ends_;
  mutable std::shared_ptr<const WordTable> index_;   // made when rows are looked up that were not fitted
};

}   // namespace kedge::engine::text
