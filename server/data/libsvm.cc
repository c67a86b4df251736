// Parses libsvm (svmlight) text: "label index:value index:value ... # comment", with qid:number after the
// label where there are groups.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "engine/core/require.h"
#include "engine/faults/fail_point.h"
#include "server/data/cell.h"
#include "server/data/number.h"
#include "server/data/sparse_text.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using engine::DatasetMeta;

constexpr double kMostIndex = std::int64_t{1} << 21;  // a worker gives each column its name: 200 MB

class LibsvmReader final : public SparseReader {
 public:
  explicit LibsvmReader(std::atomic<bool>& has_group) : has_group_(has_group) {}

  bool is_row(const char* p, const char* end) const override {
    p = skip_blanks(p, end);
    return p != end && *p != '#';
  }

  void read(const char* p, const char* end, SparseRow& row) override {
    end = std::find(p, end, '#');
    const auto label = number(p = skip_blanks(p, end), end, "the label");
    if (label.next != end && *label.next == ',')
      throw CellError{p, "several labels in a row, must be one number"};
    p = gap(label.next, end, "the label");
    double group = 0;
    if (end - p > 4 && std::string_view(p, 4) == "qid:") {
      const auto id = number(p + 4, end, "qid");
      group = id.value, p = gap(id.next, end, "qid");
      has_group_ = true;
    }
    for (std::int64_t previous = -1; p != end;) p = read_pair(p, end, previous, row);
    row.add(kGroupColumn, group);
    row.add(kLabelColumn, label.value);
  }

 private:
  const char* read_pair(const char* p, const char* end, std::int64_t& previous, SparseRow& row) const {
    const auto index = scan_number<double>(p, end);
    if (!index.next || index.next == end || *index.next != ':')
      throw CellError{p, fmt::format("'{}' is not index:value", word(p, end))};
    if (index.value != std::floor(index.value) || index.value < 0)
      throw CellError{p, fmt::format("index {} is not a whole number of at least 0",
                                     std::string_view(p, index.next - p))};
    if (index.value > kMostIndex)
      throw CellError{
          p, fmt::format("index {} is beyond {:.0f}", std::string_view(p, index.next - p), kMostIndex)};
    const auto at = static_cast<std::int64_t>(index.value);
    if (at <= previous)
      throw CellError{p, fmt::format("index {} {} {}: indices must ascend and none may come twice", at,
                                     at == previous ? "comes again after" : "comes after", previous)};
    previous = at;
    const auto value = number(index.next + 1, end, "the value");
    row.add(static_cast<std::int32_t>(at), value.value);
    return gap(value.next, end, "a value");
  }

  static ScannedNumber<double> number(const char* p, const char* end, const char* what) {
    const auto found = scan_number<double>(p, end);
    if (!found.next) throw CellError{p, fmt::format("{} is '{}', must be a number", what, word(p, end))};
    return found;
  }
  // Behind a number comes a blank or the end.
  static const char* gap(const char* p, const char* end, const char* what) {
    const char* const next = skip_blanks(p, end);
    if (next == p && p != end) throw CellError{p, fmt::format("'{}' behind {}", word(p, end), what)};
    return next;
  }
  static std::string_view word(const char* p, const char* end) {
    const char* stop = p;
    while (stop != end && *stop != ' ' && *stop != '\t' && *stop != '\r' && stop - p < 60) ++stop;
    return {p, static_cast<std::size_t>(stop - p)};
  }

  std::atomic<bool>& has_group_;
};

}  // namespace

// Indices count from 1, or from 0 where one is 0: as scikit-learn's load_svmlight_file guesses. A column is
// named as its index.
DatasetMeta parse_libsvm(std::string_view text, const ParseRequest& request) {
  SparseText rows(text, request);
  std::atomic<bool> has_group = false;
  const MakeReader make = [&](std::size_t) { return std::make_unique<LibsvmReader>(has_group); };
  const SparseCounts counts = rows.count(make);
  engine::require(counts.n_rows > 0, schema::ErrorCode::kBadData, "{}: it has no rows", request.source);
  engine::require(counts.most >= 0, schema::ErrorCode::kBadData, "{}: no row has an index", request.source);
  const std::int32_t first = counts.least == 0 ? 0 : 1;
  const auto n_features = static_cast<std::int64_t>(counts.most) - first + 1;
  DatasetMeta meta{.n_values_columns = n_features + 1 + has_group, .indexed = {.first = first, .count = n_features}};
  if (KEDGE_CONTROL("name-every-column")) meta.name_columns();
  if (has_group) {
    meta.columns.push_back({.name = "qid", .values_column = n_features});
    meta.ignored.push_back("qid");
  }
  meta.columns.push_back({.name = "label", .values_column = n_features + has_group});
  if (request.describe) request.describe(meta);
  DatasetMeta written = rows.write(make, std::move(meta), counts,
                                   {.first = first,
                                    .group = static_cast<std::int32_t>(n_features),
                                    .label = static_cast<std::int32_t>(n_features + has_group)});
  if (written.indexed.count <= engine::DatasetFile::kNamedAtOnce) written.name_columns();
  return written;
}

}  // namespace kedge::server
