// Operators of ONNX on columns, as operations of a program: what skl2onnx writes before and behind a predictor.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/imported/cell_program.h"
#include "engine/imported/onnx_graph.h"
#include "schemas/model.h"

namespace kedge::engine {

inline constexpr std::int64_t kMostClasses = 1 << 16;
inline constexpr std::int64_t kMostNumbers = 1 << 22;   // of all operations: 32 MiB

// What a name of the graph stands for: columns of the program.
struct Slot {
  enum class Role { kCells, kLabel, kShares, kScores };
  OnnxType type = OnnxType::kFloat;
  std::vector<std::int32_t> columns;
  Role role = Role::kCells;
  const OnnxTensor* constant = nullptr;   // then there are no columns

  bool is_text() const { return type == OnnxType::kString && role == Role::kCells; }
  bool is_float32() const { return type != OnnxType::kDouble; }
};

// What has been made so far, and an operation for each node. Errors: kModelCorrupt and kInvalidValue with the node.
class OnnxColumns {
 protected:
  static bool is_number(OnnxType type) {
    return type == OnnxType::kFloat || type == OnnxType::kDouble || type == OnnxType::kInt64 ||
           type == OnnxType::kInt32;
  }
  const Slot& input(const OnnxNode& node, std::size_t i) const {
    const auto found = slots_.find(node.input(i));
    if (found == slots_.end())
      node.fail(fmt::format("its input '{}' is made by no node before it", node.input(i).substr(0, 60)));
    return found->second;
  }
  // Columns of numbers, as the graph has them.
  Slot cells(const OnnxNode& node, std::size_t i = 0) {
    const Slot& slot = input(node, i);
    if (slot.constant) node.refuse("a constant as its input is not taken");
    if (!is_number(slot.type) || slot.role == Slot::Role::kLabel) node.refuse("it is asked about texts or classes");
    return slot;
  }
  const OnnxTensor& constant(const OnnxNode& node, std::size_t i) const {
    const Slot& slot = input(node, i);
    if (!slot.constant) node.refuse(fmt::format("its input '{}' must be a constant", node.input(i).substr(0, 60)));
    if (!is_number(slot.type)) node.refuse("a constant of texts is not taken");
    return *slot.constant;
  }
  void put(const OnnxNode& node, std::string_view name, Slot slot) {
    if (name.empty()) return;
    n_columns_ += static_cast<std::int64_t>(slot.columns.size());
    if (n_columns_ > 8 * kMostCells) node.refuse(fmt::format("the graph moves more than {} columns", 8 * kMostCells));
    if (!slots_.emplace(name, std::move(slot)).second) node.fail(fmt::format("'{}' is made twice", name.substr(0, 60)));
  }
  // Adds an operation, and says which columns are its.
  std::vector<std::int32_t> add(const OnnxNode& node, CellOp op) {
    const std::int64_t added = columns_added(program_, op, node.place);
    if (added > kMostCells - n_cells_) node.refuse(fmt::format("the graph makes more than {} columns", kMostCells));
    n_numbers_ += static_cast<std::int64_t>(op.numbers.size());
    if (n_numbers_ > kMostNumbers || static_cast<std::int64_t>(program_.ops.size()) >= kMostCells)
      node.refuse(fmt::format("the graph has more than {} numbers or {} operations", kMostNumbers, kMostCells));
    std::vector<std::int32_t> columns;
    for (std::int64_t j = 0; j < added; ++j) columns.push_back(static_cast<std::int32_t>(n_cells_++));
    program_.ops.push_back(std::move(op));
    return columns;
  }
  // The operation on all columns of a slot.
  Slot made(const OnnxNode& node, CellCode code, const Slot& from, std::vector<double> numbers = {}) {
    Slot slot{.type = from.type, .role = from.role};
    slot.columns = add(node, {code, from.is_float32(), from.columns, std::move(numbers)});
    return slot;
  }
  Slot as_float32(const OnnxNode& node, const Slot& from) {
    if (from.type == OnnxType::kFloat) return from;
    Slot slot = made(node, CellCode::kRound, from);
    slot.type = OnnxType::kFloat;
    return slot;
  }
  // One number for each column, of a list of that length or of one.
  static std::vector<double> spread(const OnnxNode& node, std::string_view name, const std::vector<double>& values,
                                    std::size_t n) {
    if (values.size() == n) return values;
    if (values.size() != 1) node.fail(fmt::format("{} has {} values for {} columns", name, values.size(), n));
    return std::vector<double>(n, values[0]);
  }

  void same(const OnnxNode& node) {
    const Slot slot = input(node, 0);
    put(node, node.output(0), slot);
  }
  void zip_map(const OnnxNode& node) {
    const Slot slot = cells(node);
    const std::size_t n =
        std::max(node.integers("classlabels_int64s").size(), node.texts("classlabels_strings").size());
    if (n != slot.columns.size()) node.fail(fmt::format("it names {} classes of {} columns", n, slot.columns.size()));
    put(node, node.output(0), slot);
  }
  void cast(const OnnxNode& node) {
    const Slot slot = input(node, 0);
    const auto to = static_cast<OnnxType>(node.integer("to", 0));
    if (slot.constant || (slot.is_text() ? to != OnnxType::kString : false))
      node.refuse("it casts a constant or a text");
    if (slot.role == Slot::Role::kLabel) return put(node, node.output(0), slot);   // classes keep their names
    if (!is_number(to) && !slot.is_text()) node.refuse(fmt::format("it casts to type {}", static_cast<int>(to)));
    const bool is_whole = to == OnnxType::kInt64 || to == OnnxType::kInt32;
    const bool was_whole = slot.type == OnnxType::kInt64 || slot.type == OnnxType::kInt32;
    Slot result = slot;
    if (is_whole && !was_whole) result = made(node, CellCode::kTruncate, slot);
    else if (to == OnnxType::kFloat && slot.type != OnnxType::kFloat) result = made(node, CellCode::kRound, slot);
    result.type = to;
    put(node, node.output(0), result);
  }
  void reshape(const OnnxNode& node) {
    const Slot slot = input(node, 0);
    const std::vector<double>& shape = constant(node, 1).numbers;
    const auto wide = static_cast<double>(slot.columns.size());
    const bool is_rows = shape.size() == 2 && (shape[1] == wide || (shape[1] == -1 && shape[0] == 0));
    if (slot.constant || !(is_rows || (shape.size() == 1 && wide == 1))) node.refuse("it makes other rows");
    put(node, node.output(0), slot);
  }
  void concat(const OnnxNode& node) {
    const std::int64_t axis = node.integer("axis", 1);
    if (axis != 1 && axis != -1) node.refuse(fmt::format("axis is {}, must be 1", axis));
    Slot result = input(node, 0);
    if (node.inputs.size() > static_cast<std::size_t>(kMostCells)) node.refuse("it has too many inputs");
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Slot& slot = input(node, i);
      if (slot.constant || slot.role == Slot::Role::kLabel) node.refuse("it joins constants or classes");
      if (slot.type != result.type)
        node.fail(fmt::format("its inputs are of types {} and {}", static_cast<int>(result.type),
                              static_cast<int>(slot.type)));
      if (i > 0) result.columns.insert(result.columns.end(), slot.columns.begin(), slot.columns.end());
      if (result.columns.size() > static_cast<std::size_t>(kMostCells)) node.refuse("it has too many columns");
    }
    result.role = Slot::Role::kCells;
    put(node, node.output(0), result);
  }
  // FeatureVectorizer: the same, as float32.
  void vectorize(const OnnxNode& node) {
    Slot result;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, node.inputs.size()); ++i) {
      const Slot slot = as_float32(node, cells(node, i));
      result.columns.insert(result.columns.end(), slot.columns.begin(), slot.columns.end());
      if (result.columns.size() > static_cast<std::size_t>(kMostCells)) node.refuse("it has too many columns");
    }
    put(node, node.output(0), result);
  }
  // Gather along the columns, ArrayFeatureExtractor.
  void pick(const OnnxNode& node) {
    const Slot slot = input(node, 0);
    if (slot.constant || slot.role == Slot::Role::kLabel) node.refuse("it picks from constants or classes");
    if (node.op == "Gather" && node.integer("axis", 0) != 1) node.refuse("axis must be 1");
    Slot result{.type = slot.type};
    for (const double at : constant(node, 1).numbers) {
      const auto n = static_cast<double>(slot.columns.size());
      if (!(at >= 0 && at < n)) node.fail(fmt::format("it picks column {} of {}", at, n));
      result.columns.push_back(slot.columns[static_cast<std::size_t>(at)]);
    }
    if (result.columns.empty()) node.fail("it picks no columns");
    put(node, node.output(0), result);
  }

  void scale(const OnnxNode& node) {
    const Slot slot = cells(node);
    std::vector<double> numbers = spread(node, "offset", node.reals("offset"), slot.columns.size());
    const std::vector<double> factors = spread(node, "scale", node.reals("scale"), slot.columns.size());
    numbers.insert(numbers.end(), factors.begin(), factors.end());
    put(node, node.output(0), as_float32(node, made(node, CellCode::kScale, slot, std::move(numbers))));
  }
  void normalize(const OnnxNode& node) {
    const Slot slot = as_float32(node, cells(node));
    const std::string_view norm = node.text("norm", "MAX");
    if (norm != "MAX" && norm != "L1" && norm != "L2")
      node.refuse(fmt::format("norm is '{}', taken are MAX, L1, L2", norm.substr(0, 40)));
    put(node, node.output(0),
        made(node,
             norm == "MAX"  ? CellCode::kNormMax
             : norm == "L1" ? CellCode::kNormL1
                            : CellCode::kNormL2,
             slot));
  }
  void impute(const OnnxNode& node) {
    const Slot slot = cells(node);
    const bool is_real = !node.reals("imputed_value_floats").empty();
    const std::vector<std::int64_t>& whole = node.integers("imputed_value_int64s");
    const std::vector<double> values =
        is_real ? node.reals("imputed_value_floats") : std::vector<double>(whole.begin(), whole.end());
    std::vector<double> numbers{is_real ? node.real("replaced_value_float", 0)
                                        : static_cast<double>(node.integer("replaced_value_int64", 0))};
    const std::vector<double> all = spread(node, "imputed_value", values, slot.columns.size());
    numbers.insert(numbers.end(), all.begin(), all.end());
    put(node, node.output(0), made(node, CellCode::kReplace, slot, std::move(numbers)));
  }

  // The code of a text in a column of the rows; the column learns it.
  double code_of(const OnnxNode& node, std::int32_t column, std::string_view text) {
    auto& codes = codes_[column];
    auto& names = info_.columns.at(static_cast<std::size_t>(column)).categories;
    const auto [found, is_new] = codes.emplace(text, static_cast<std::int32_t>(names.size()));
    if (is_new) names.emplace_back(text), n_texts_ += 1;
    if (n_texts_ > (1 << 20)) node.refuse("the graph has more than 2^20 categories");
    return static_cast<double>(found->second);
  }
  void one_hot(const OnnxNode& node) {
    const Slot& read = input(node, 0);
    if (read.constant || read.role == Slot::Role::kLabel) node.refuse("it is asked about constants or classes");
    const std::vector<std::int64_t>& numbers = node.integers("cats_int64s");
    const std::vector<std::string_view>& texts = node.texts("cats_strings");
    if (read.is_text() ? texts.empty() : numbers.empty()) node.fail("it has no categories of its input's type");
    Slot slot = read;
    if (!read.is_text() && read.type != OnnxType::kInt64 && read.type != OnnxType::kInt32)
      slot = made(node, CellCode::kTruncate, read);
    Slot result;
    for (const std::int32_t column : slot.columns) {
      CellOp op{CellCode::kIs, true, {column}, {}};
      if (read.is_text())
        for (const std::string_view text : texts) op.numbers.push_back(code_of(node, column, text));
      else op.numbers.assign(numbers.begin(), numbers.end());
      if (node.integer("zeros", 1) == 0) add(node, {CellCode::kMustBe, true, op.inputs, op.numbers});
      const std::vector<std::int32_t> made = add(node, std::move(op));
      result.columns.insert(result.columns.end(), made.begin(), made.end());
    }
    put(node, node.output(0), result);
  }
  // Keys and values of LabelEncoder; only what becomes a number.
  void encode(const OnnxNode& node) {
    const Slot slot = input(node, 0);
    if (slot.constant || slot.role == Slot::Role::kLabel) node.refuse("it is asked about constants or classes");
    const std::vector<std::string_view>& texts =
        node.texts(node.find("classes_strings") ? "classes_strings" : "keys_strings");
    std::vector<double> keys = node.reals("keys_floats"), values = node.reals("values_floats");
    const auto &whole_keys = node.integers("keys_int64s"), &whole_values = node.integers("values_int64s");
    if (!whole_keys.empty()) keys.assign(whole_keys.begin(), whole_keys.end());
    if (!whole_values.empty()) values.assign(whole_values.begin(), whole_values.end());
    const bool is_whole = values.empty() || !whole_values.empty();
    if (node.find("classes_strings"))
      for (std::size_t k = 0; k < texts.size(); ++k) values.push_back(static_cast<double>(k));
    const std::size_t n = slot.is_text() ? texts.size() : keys.size();
    if (n == 0) node.refuse("it has no keys of its input's type");
    if (values.size() != n) node.refuse(fmt::format("it has {} keys and {} numbers for them", n, values.size()));
    const double otherwise =
        is_whole ? static_cast<double>(node.integer("default_int64", -1)) : node.real("default_float", 0);
    Slot result{.type = is_whole ? OnnxType::kInt64 : OnnxType::kFloat};
    for (const std::int32_t column : slot.columns) {
      CellOp op{CellCode::kMap, true, {column}, {otherwise}};
      for (std::size_t k = 0; k < n; ++k)
        op.numbers.push_back(slot.is_text() ? code_of(node, column, texts[k]) : keys[k]);
      op.numbers.insert(op.numbers.end(), values.begin(), values.end());
      const std::vector<std::int32_t> made = add(node, std::move(op));
      result.columns.insert(result.columns.end(), made.begin(), made.end());
    }
    put(node, node.output(0), result);
  }

  // Add, Sub, Mul, Div with a constant.
  void calculate(const OnnxNode& node) {
    const bool is_first = input(node, 0).constant != nullptr;
    if (is_first && code_ != CellCode::kAdd && code_ != CellCode::kMultiply)
      node.refuse("its first input is a constant");
    const Slot slot = cells(node, is_first ? 1 : 0);
    const OnnxTensor& by = constant(node, is_first ? 0 : 1);
    Slot result = made(node, code_, slot, spread(node, "its constant", by.numbers, slot.columns.size()));
    result.role = Slot::Role::kCells;
    put(node, node.output(0), result);
  }
  void each(const OnnxNode& node) {
    Slot result = made(node, code_, cells(node));
    result.role = Slot::Role::kCells;
    put(node, node.output(0), result);
  }
  void multiply_matrix(const OnnxNode& node) {
    const Slot slot = cells(node);
    const OnnxTensor& matrix = constant(node, 1);
    const auto n = static_cast<std::int64_t>(slot.columns.size());
    const std::int64_t wide = matrix.dims.size() == 2 ? matrix.dims[1] : 1;
    if (matrix.dims.empty() || matrix.dims.size() > 2 || matrix.dims[0] != n)
      node.fail(fmt::format("its constant does not fit {} columns", n));
    std::vector<double> numbers;
    for (std::int64_t k = 0; k < wide; ++k) {
      for (std::int64_t j = 0; j < n; ++j) numbers.push_back(matrix.numbers[static_cast<std::size_t>(j * wide + k)]);
      numbers.push_back(0);
    }
    has_predictor_ = true;
    put(node, node.output(0), made(node, CellCode::kDot, slot, std::move(numbers)));
  }

  CellProgram program_;
  schema::ModelInfo info_;
  std::map<std::string_view, Slot> slots_;
  std::map<std::int32_t, std::map<std::string_view, std::int32_t>> codes_;   // by column of the rows
  std::int64_t n_cells_ = 0, n_columns_ = 0, n_numbers_ = 0, n_texts_ = 0;
  bool has_predictor_ = false;
  CellCode code_ = CellCode::kRound;
};

}   // namespace kedge::engine
