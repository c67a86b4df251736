// Finds out which table the members of an .npz file are.
#include "server/data/npz_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "schemas/error.h"
#include "server/data/cell.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using schema::Error;
using schema::ErrorCode;
using std::string_view;

constexpr std::int64_t kMostColumns = 1'000'000, kMostMemberColumns = 100'000;
constexpr std::int64_t kMostSparseColumns = std::int64_t{1} << 21;   // as of libsvm
constexpr std::size_t kMostCategories = std::size_t{1} << 24;        // codes beyond are not exact in float32
constexpr string_view kColumns = "columns.", kCategories = "categories.";
constexpr std::array<string_view, 11> kKnown{"X",           "y",    "sample_weight", "groups", "feature_names",
                                             "target_name", "data", "indices",       "indptr", "shape",
                                             "format"};

std::optional<std::int64_t> place_of(string_view name, string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const string_view digits = name.substr(prefix.size());
  std::int64_t place = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  const bool is_plain = error == std::errc() && end == digits.data() + digits.size() && std::to_string(place) == digits;
  return is_plain && place >= 0 ? std::optional(place) : std::nullopt;
}

class LayoutReader {
 public:
  LayoutReader(const ZipFile& zip, const std::string& source) : zip_(zip), source_(source) {}

  NpzLayout read() {
    check_names_of_members();
    read_form();
    read_names();
    read_categories();
    add_extra("y", read_target_name());
    layout_.has_target = !layout_.extras.empty();
    add_extra("sample_weight", "sample_weight");
    add_extra("groups", "groups");
    check_names();
    return std::move(layout_);
  }

 private:
  [[noreturn]] void refuse(string_view what) const {
    throw Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: {}", source_, what));
  }
  const ZipMember* find(string_view name) const { return find_npz_member(zip_, name); }

  void check_names_of_members() const {
    for (const auto& [file, member] : zip_.members()) {
      const string_view name = string_view(file).substr(0, file.size() - std::min<std::size_t>(file.size(), 4));
      if (!file.ends_with(".npy")) refuse(fmt::format("member '{}' is no .npy array", file.substr(0, 64)));
      const bool is_known = std::ranges::find(kKnown, name) != kKnown.end() || place_of(name, kColumns) ||
                            place_of(name, kCategories) || name == "categories.y" ||
                            name == "_is_array";   // the last is SciPy's
      if (!is_known)
        refuse(fmt::format(
            "member '{}' is not known; there may be X (or columns.0 and so on, or data, indices, indptr and shape), y, sample_weight, "
            "groups, feature_names, target_name, categories.0 and so on, categories.y",
            name.substr(0, 64)));
    }
  }

  void read_form() {
    const ZipMember *const matrix = find("X"), *const column = find("columns.0"), *const data = find("data");
    const int forms = (matrix != nullptr) + (column != nullptr) + (data != nullptr);
    if (forms != 1)
      refuse(fmt::format("it has {} of the members X, columns.0 and data, must have one of them",
                         forms == 0 ? "none" : "several"));
    if (matrix) read_matrix(*matrix);
    if (column) read_columns();
    if (data) read_sparse();
    if (layout_.n_rows < 1 || layout_.n_features < 1)
      refuse(fmt::format("it has {} rows and {} columns, must have at least one of each", layout_.n_rows,
                         layout_.n_features));
  }

  void read_matrix(const ZipMember& member) {
    NpzArray array(member, source_);
    array.require_numbers();
    array.require_dimensions(2);
    layout_.form = NpzForm::kMatrix;
    layout_.n_rows = array.header().shape[0], layout_.n_features = array.header().shape[1];
    layout_.is_float32 = array.header().is_exact_in_float();
    if (layout_.n_features > kMostColumns)
      array.refuse(fmt::format("it has {} columns, at most {} are taken", layout_.n_features, kMostColumns));
  }

  void read_columns() {
    layout_.form = NpzForm::kColumns, layout_.is_float32 = true;
    std::int64_t n_members = 0;
    for (const auto& [file, member] : zip_.members()) n_members += file.starts_with(kColumns);
    if (n_members > kMostMemberColumns)
      refuse(fmt::format("it has {} members of columns, at most {} are taken", n_members, kMostMemberColumns));
    for (std::int64_t i = 0; i < n_members; ++i) {
      const ZipMember* const member = find(fmt::format("columns.{}", i));
      if (!member) refuse(fmt::format("it has {} members of columns, but no 'columns.{}'", n_members, i));
      NpzArray array(*member, source_);
      if (i == 0) layout_.n_rows = array.size();
      array.require_size(layout_.n_rows, "row");
      NpzPart part{.member = member, .name = {}, .categories = categories_of(*member, fmt::format("categories.{}", i))};
      layout_.is_float32 = layout_.is_float32 && (part.categories || array.header().is_exact_in_float());
      layout_.features.push_back(std::move(part));
    }
    layout_.n_features = n_members;
  }

  void read_sparse() {
    layout_.form = NpzForm::kSparse, layout_.is_float32 = true;
    if (const ZipMember* const format = find("format")) {
      NpzArray array(*format, source_);
      const std::vector<std::string> texts = array.texts();
      if (texts.size() != 1 || texts[0] != "csr")
        array.refuse(fmt::format("the format is '{}', must be 'csr': call tocsr()",
                                 texts.empty() ? "" : texts[0].substr(0, 16)));
    }
    const ZipMember* const shape = find("shape");
    if (!shape || !find("indices") || !find("indptr"))
      refuse("a sparse matrix has the members data, indices, indptr and shape; one is missing");
    NpzArray array(*shape, source_);
    array.require_size(2, "dimension");
    double sizes[2];
    array.read(sizes);
    array.finish();
    for (const double size : sizes)
      if (!(size >= 0 && size == std::floor(size))) array.refuse("the sizes are no whole numbers");
    layout_.n_rows = static_cast<std::int64_t>(sizes[0]), layout_.n_features = static_cast<std::int64_t>(sizes[1]);
    if (layout_.n_features > kMostSparseColumns)
      array.refuse(fmt::format("it has {} columns, at most {} are taken", layout_.n_features, kMostSparseColumns));
  }

  // Of texts the distinct ones, sorted; else those of a member; nothing: they are numbers.
  std::optional<std::vector<std::string>> categories_of(const ZipMember& member, const std::string& name) const {
    const ZipMember* const given = find(name);
    NpzArray array(member, source_);
    if (!array.is_text() && !given) return array.require_numbers(), std::nullopt;
    if (array.is_text() && given) array.refuse(fmt::format("it holds texts, so that there is no '{}'", name));
    if (given) return distinct(*given);
    std::set<std::string> found;
    for (std::int64_t i = 0; i < array.size(); ++i) found.insert(array.next_text());
    array.finish();
    if (found.size() > kMostCategories)
      array.refuse(fmt::format("it has more than {} distinct texts", kMostCategories));
    return std::vector<std::string>(found.begin(), found.end());
  }

  std::vector<std::string> distinct(const ZipMember& member) const {
    NpzArray array(member, source_);
    array.require_dimensions(1);
    if (array.size() > static_cast<std::int64_t>(kMostCategories))
      array.refuse(fmt::format("it has more than {} categories", kMostCategories));
    std::vector<std::string> texts = array.texts();
    array.finish();
    if (const std::string* const twice = repeated(texts))
      array.refuse(fmt::format("the category '{}' comes twice", twice->substr(0, 64)));
    return texts;
  }

  static const std::string* repeated(const std::vector<std::string>& texts) {
    std::set<string_view> seen;
    for (const std::string& text : texts)
      if (!seen.insert(text).second) return &text;
    return nullptr;
  }

  void read_names() {
    const ZipMember* const member = find("feature_names");
    if (!member) return;
    NpzArray array(*member, source_);
    array.require_size(layout_.n_features, "column");
    layout_.names = array.texts();
    array.finish();
  }

  // Those of columns are known; those of a matrix come by the column's place.
  void read_categories() {
    for (const auto& [file, member] : zip_.members()) {
      const auto place = place_of(string_view(file).substr(0, file.size() - 4), kCategories);
      if (!place) continue;
      if (*place >= layout_.n_features)
        refuse(fmt::format("member '{}': there are {} columns, counted from 0", file, layout_.n_features));
      if (layout_.form == NpzForm::kSparse) refuse(fmt::format("member '{}': a sparse matrix has no categories", file));
      if (layout_.form == NpzForm::kMatrix) layout_.categories.emplace(*place, distinct(member));
    }
    if (find("categories.y") && !find("y")) refuse("it has the member 'categories.y', but no 'y'");
  }

  std::string read_target_name() const {
    const ZipMember* const member = find("target_name");
    if (!member) return "y";
    NpzArray array(*member, source_);
    if (array.size() != 1) array.refuse("it must be one text");
    std::string name = array.texts()[0];
    array.finish();
    if (!find("y")) array.refuse("there is no member 'y'");
    return name;
  }

  // Reads its values once, for what must be known before the table is written.
  void add_extra(const std::string& member_name, std::string name) {
    const ZipMember* const member = find(member_name);
    if (!member) return;
    NpzPart part{.member = member, .name = std::move(name)};
    part.categories = member_name == "y" ? categories_of(*member, "categories.y") : std::nullopt;
    NpzColumn column(*member, source_, part.texts());
    if (!part.categories) column.array().require_numbers();
    column.array().require_size(layout_.n_rows, "row");
    std::vector<double> values(std::min<std::size_t>(4096, static_cast<std::size_t>(layout_.n_rows)));
    for (std::int64_t row = 0; row < layout_.n_rows; row += static_cast<std::int64_t>(values.size())) {
      values.resize(std::min(values.size(), static_cast<std::size_t>(layout_.n_rows - row)));
      column.read(values);
      for (const double value : values) {
        part.n_filled += value != 0;
        layout_.is_float32 =
            layout_.is_float32 && (value != value || static_cast<double>(static_cast<float>(value)) == value);
      }
    }
    column.array().finish();
    layout_.extras.push_back(std::move(part));
  }

  void check_names() const {
    std::set<std::string, std::less<>> seen;
    const auto add = [&](const std::string& name, std::size_t number) {
      if (const std::string problem = name_problem(name, number); !problem.empty()) refuse(problem);
      if (!seen.insert(name).second) refuse(fmt::format("two columns are named '{}'", name));
    };
    for (std::size_t i = 0; i < layout_.names.size(); ++i) add(layout_.names[i], i + 1);
    const string_view numbered = layout_.form == NpzForm::kSparse ? "" : "x";
    for (const NpzPart& extra : layout_.extras)
      if (layout_.names.empty() && place_of(extra.name, numbered).value_or(layout_.n_features) < layout_.n_features)
        refuse(fmt::format("two columns are named '{}'", extra.name));
    for (std::size_t i = 0; i < layout_.extras.size(); ++i)
      add(layout_.extras[i].name, static_cast<std::size_t>(layout_.n_features) + i + 1);
  }

  const ZipFile& zip_;
  const std::string& source_;
  NpzLayout layout_;
};

ColumnInfo column_of(std::string name, std::int64_t place, const std::vector<std::string>* categories) {
  ColumnInfo column{.name = std::move(name), .values_column = place};
  if (categories) column.type = ColumnInfo::Type::kNominal, column.categories = *categories;
  return column;
}

const std::vector<std::string>* categories_at(const NpzLayout& layout, std::int64_t feature) {
  if (layout.form == NpzForm::kColumns) return layout.features[static_cast<std::size_t>(feature)].texts();
  const auto found = layout.categories.find(feature);
  return found == layout.categories.end() ? nullptr : &found->second;
}

}   // namespace

const ZipMember* find_npz_member(const ZipFile& zip, string_view name) {
  const auto found = zip.members().find(std::string(name) + ".npy");
  return found == zip.members().end() ? nullptr : &found->second;
}

NpzLayout read_npz_layout(const ZipFile& zip, const std::string& source) {
  return LayoutReader(zip, source).read();
}

engine::DatasetMeta meta_of(const NpzLayout& layout) {
  engine::DatasetMeta meta;
  meta.n_rows = layout.n_rows, meta.is_float32 = layout.is_float32;
  meta.n_values_columns = layout.n_features + static_cast<std::int64_t>(layout.extras.size());
  const bool is_sparse = layout.form == NpzForm::kSparse;
  if (is_sparse && layout.names.empty() && layout.n_features > engine::DatasetFile::kNamedAtOnce) {
    meta.indexed = {.first = 0, .count = layout.n_features};
  } else {
    for (std::int64_t i = 0; i < layout.n_features; ++i) {
      const std::string number = (is_sparse ? "" : "x") + std::to_string(i);
      meta.columns.push_back(column_of(layout.names.empty() ? number : layout.names[static_cast<std::size_t>(i)], i,
                                       categories_at(layout, i)));
    }
  }
  for (const NpzPart& extra : layout.extras) {
    const bool is_target = layout.has_target && &extra == &layout.extras.front();
    meta.columns.push_back(column_of(extra.name, layout.n_features + (&extra - layout.extras.data()), extra.texts()));
    if (!is_target) meta.ignored.push_back(extra.name);
  }
  return meta;
}

}   // namespace kedge::server
