// Keeps terms and finds them again.
#include "engine/estimators/text/vocabulary.h"

#include "engine/core/stop.h"
#include "engine/estimators/text/unicode.h"

namespace kedge::engine::text {

void Vocabulary::prepare() const {
  if (index_) return;
  auto made = std::make_shared<WordTable>();
  made->reserve(ends_.size(), terms_.size());
  for (std::int64_t j = 0; j < size(); ++j) {
    if (j % 65536 == 0) check_job_stop();
    made->number_of(term(j));
  }
  index_ = std::move(made);
}

schema::ValueMap Vocabulary::columns() const {
  schema::ValueMap map;
  map.reserve(ends_.size());
  for (std::int64_t j = 0; j < size(); ++j) map.emplace_back(std::string(term(j)), j);
  return map;
}

std::vector<std::string> Vocabulary::names() const {
  std::vector<std::string> all;
  all.reserve(ends_.size());
  for (std::int64_t j = 0; j < size(); ++j) all.emplace_back(term(j));
  return all;
}

void Vocabulary::state(StateArchive& archive) {
  std::vector<std::uint8_t> bytes(terms_.begin(), terms_.end());
  archive.field("terms", bytes, kAnySize);
  archive.field("ends", ends_, kAnySize);
  if (!archive.is_loading()) return;
  terms_.assign(bytes.begin(), bytes.end());
  index_.reset();
  std::int64_t before = 0;
  for (const std::int64_t end : ends_) {
    archive.expect(end >= before && end <= static_cast<std::int64_t>(terms_.size()), "ends", "is not in order");
    before = end;
  }
  archive.expect(before == static_cast<std::int64_t>(terms_.size()), "ends", "does not end with the terms");
  archive.expect(!ends_.empty() && ends_.size() < WordTable::kMost, "ends", "has no number of terms that is allowed");
  for (std::int64_t j = 0; j < size(); ++j) archive.expect(is_utf8(term(j)), "terms", "has one that is not UTF-8");
  prepare();
  archive.expect(index_->size() == ends_.size(), "terms", "has a term twice");
}

}   // namespace kedge::engine::text
