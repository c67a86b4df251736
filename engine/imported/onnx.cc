// Graphs of ONNX as programs on columns: the operators that skl2onnx, onnxmltools and CatBoost write for models of
// tables.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "engine/imported/imported_model.h"
#include "engine/imported/onnx_columns.h"
#include "engine/imported/onnx_graph.h"
#include "engine/imported/onnx_trees.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

class Compiler;
using Handler = void (Compiler::*)(const OnnxNode&);
struct Operator {
  std::string_view name;
  Handler handler;
  std::int64_t code = 0;   // of a CellCode
};

class Compiler : OnnxColumns {
 public:
  explicit Compiler(const OnnxGraph& graph) : graph_(graph) {}

  ImportedModel compile() {
    for (const OnnxTensor& constant : graph_.constants)
      if (!slots_.emplace(constant.name, Slot{.type = constant.type, .constant = &constant}).second)
        fail(fmt::format("two constants are named '{}'", constant.name.substr(0, 60)));
    for (const OnnxInput& input : graph_.inputs) add_input(input);
    if (program_.n_cols == 0) fail("it has no inputs");
    n_cells_ = program_.n_cols;
    round_inputs();
    for (const OnnxNode& node : graph_.nodes) compile(node);
    for (const std::string_view name : graph_.outputs) add_output(name);
    if (program_.outputs.empty()) fail("it has no outputs");
    describe();
    return {.info = std::move(info_), .program = std::move(program_)};
  }

 private:
  [[noreturn]] static void fail(const std::string& problem) {
    throw Error(ErrorCode::kModelCorrupt, "ONNX model: " + problem);
  }
  [[noreturn]] static void refuse(const std::string& problem) {
    throw Error(ErrorCode::kInvalidValue, "ONNX model: " + problem);
  }

  // --- inputs and outputs ---

  // Where the graph does not say how wide an input is: what its first reader needs.
  std::int64_t width_by_reader(std::string_view name) const {
    for (const OnnxNode& node : graph_.nodes) {
      if (std::ranges::find(node.inputs, name) == node.inputs.end()) continue;
      if (const auto n = static_cast<std::int64_t>(std::max(node.reals("offset").size(), node.reals("scale").size()));
          n > 1)
        return n;
      if (const auto n = node.reals("imputed_value_floats").size(); n > 1) return static_cast<std::int64_t>(n);
      if (const auto& coefficients = node.reals("coefficients"); !coefficients.empty()) {
        const auto targets = std::max<std::int64_t>(
            1, node.integer("targets", static_cast<std::int64_t>(node.reals("intercepts").size())));
        return static_cast<std::int64_t>(coefficients.size()) / targets;
      }
      if (const auto& features = node.integers("nodes_featureids"); !features.empty())
        return std::ranges::max(features) + 1;
    }
    return -1;
  }
  void add_input(const OnnxInput& input) {
    const std::string name(input.name.substr(0, 200));
    if (!is_number(input.type) && input.type != OnnxType::kString)
      refuse(fmt::format("input '{}' has elements of type {}, taken are numbers and strings", name,
                         static_cast<int>(input.type)));
    if (input.dims.size() > 2)
      refuse(fmt::format("input '{}' has {} dimensions, must have 2", name, input.dims.size()));
    std::int64_t width = input.dims.size() == 2 ? input.dims[1] : 1;
    if (width < 0) width = width_by_reader(input.name);
    if (width < 1 || width > kMostCells - program_.n_cols)
      refuse(fmt::format("input '{}' has {} columns, must have 1 to {}", name, width, kMostCells - program_.n_cols));
    Slot slot{.type = input.type};
    for (std::int64_t j = 0; j < width; ++j) {
      slot.columns.push_back(static_cast<std::int32_t>(program_.n_cols++));
      info_.columns.push_back({.name = width == 1 ? name : fmt::format("{}_{}", name, j)});
      if (input.type == OnnxType::kString) info_.columns.back().kind = "category";
    }
    if (!slots_.emplace(input.name, std::move(slot)).second) fail(fmt::format("two inputs are named '{}'", name));
  }

  // Cells come as doubles.
  void round_inputs() {
    const OnnxNode place{.place = "ONNX model: graph.input"};
    for (const OnnxInput& input : graph_.inputs) {
      Slot& slot = slots_.at(input.name);
      if (slot.type == OnnxType::kFloat) slot = made(place, CellCode::kRound, slot);
      else if (is_number(slot.type) && slot.type != OnnxType::kDouble) slot = made(place, CellCode::kTruncate, slot);
    }
  }

  void add_output(std::string_view name) {
    const auto found = slots_.find(name);
    if (found == slots_.end() || found->second.constant)
      fail(fmt::format("the output '{}' is made by no node", name.substr(0, 60)));
    const Slot& slot = found->second;
    if (slot.is_text()) refuse(fmt::format("the output '{}' is a text", name.substr(0, 60)));
    const bool is_label = slot.role == Slot::Role::kLabel;
    const std::string said = is_label                           ? "predict"
                             : slot.role == Slot::Role::kShares ? "predict_proba"
                             : slot.role == Slot::Role::kScores ? "decision_function"
                             : has_predictor_                   ? "predict"
                                                                : "transform";
    if (std::ranges::find(program_.outputs, said, &CellOutput::name) != program_.outputs.end())
      refuse(fmt::format("the output '{}' is a second '{}'", name.substr(0, 60), said));
    program_.outputs.push_back({said, is_label, slot.is_float32(), slot.columns});
  }

  void describe() {
    std::string operators;
    for (const OnnxNode& node : graph_.nodes) {
      const std::string_view op = node.op.substr(0, 60);
      if (operators.find(op) == std::string::npos) operators.append(operators.empty() ? "" : ", ").append(op);
    }
    std::int64_t n_trees = 0;
    for (const LeafyTrees& ensemble : program_.ensembles) n_trees += ensemble.trees.n_trees();
    info_.pipeline = {{kOnnxGraph,
                       {{"source", std::string(graph_.producer.substr(0, 60))},
                        {"operators", operators},
                        {"n_trees", n_trees},
                        {"n_nodes", program_.n_nodes()}}}};
    const bool is_double =
        std::ranges::any_of(program_.outputs, [](const CellOutput& output) { return !output.is_float32; });
    info_.dtype = is_double ? "float64" : "float32";
    const auto is_named = [&](const CellOutput& output) { return output.is_classes; };
    if (std::ranges::none_of(program_.outputs, is_named) && !has_shares()) info_.classes.clear();
    for (const CellOutput& output : program_.outputs) info_.outputs.push_back(output.name);
  }
  bool has_shares() const {
    return std::ranges::any_of(program_.outputs,
                               [](const CellOutput& o) { return o.name != "predict" && o.name != "transform"; });
  }

  // --- nodes ---

  void compile(const OnnxNode& node) {
    if (!node.domain.empty() && node.domain != "ai.onnx" && node.domain != "ai.onnx.ml")
      node.refuse(fmt::format("operators of '{}' are not taken", node.domain.substr(0, 60)));
    const auto found = std::ranges::find(kOperators, node.op, &Operator::name);
    if (found == std::end(kOperators)) node.refuse("this operator is not taken");
    code_ = static_cast<CellCode>(found->code);
    (this->*found->handler)(node);
  }

  // --- predictors ---

  // Coefficients, target by target, with the intercept behind each.
  Slot dot(const OnnxNode& node, std::int64_t targets) {
    Slot slot = as_float32(node, cells(node));
    slot.role = Slot::Role::kCells;
    const std::vector<double>&factors = node.reals("coefficients"), &intercepts = node.reals("intercepts");
    const auto n = static_cast<std::int64_t>(slot.columns.size());
    if (targets < 1 || targets > kMostClasses || static_cast<std::int64_t>(factors.size()) != targets * n)
      node.fail(fmt::format("it has {} coefficients of {} columns for {} outputs", factors.size(), n, targets));
    if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets)
      node.fail(fmt::format("it has {} intercepts for {} outputs", intercepts.size(), targets));
    std::vector<double> numbers;
    for (std::int64_t k = 0; k < targets; ++k) {
      numbers.insert(numbers.end(), factors.begin() + k * n, factors.begin() + (k + 1) * n);
      numbers.push_back(intercepts.empty() ? 0 : intercepts[static_cast<std::size_t>(k)]);
    }
    has_predictor_ = true;
    return made(node, CellCode::kDot, slot, std::move(numbers));
  }
  Slot transformed(const OnnxNode& node, Slot slot) {
    const std::string_view how = node.text("post_transform", "NONE");
    if (how == "NONE") return slot;
    if (how == "LOGISTIC") return made(node, CellCode::kLogistic, slot);
    if (how == "SOFTMAX") return made(node, CellCode::kSoftmax, slot);
    if (how == "SOFTMAX_ZERO") return made(node, CellCode::kSoftmaxZero, slot);
    if (how == "PROBIT") return made(node, CellCode::kProbit, slot);
    node.fail(fmt::format("post_transform is '{}', which is not known", how.substr(0, 40)));
  }
  void regress(const OnnxNode& node) {
    put(node, node.output(0), transformed(node, dot(node, node.integer("targets", 1))));
  }
  void regress_by_trees(const OnnxNode& node) {
    const std::int64_t targets = node.integer("n_targets", 1);
    if (targets < 1 || targets > kMostClasses)
      node.fail(fmt::format("n_targets is {}, must be from 1 to {}", targets, kMostClasses));
    bool has_one_output = false, has_negative = false;
    Slot sums = trees(node, "target", targets, has_one_output, has_negative);
    sums = with_base(node, sums);
    sums = transformed(node, sums);
    if (sums.type == OnnxType::kDouble) sums = as_float32(node, sums);   // what the operator gives
    put(node, node.output(0), sums);
  }
  Slot trees(const OnnxNode& node, const char* prefix, std::int64_t outputs, bool& has_one_output, bool& has_negative) {
    Slot slot = cells(node);
    if (slot.type != OnnxType::kDouble) slot = as_float32(node, slot);
    OnnxTrees read =
        read_onnx_trees(node, prefix, static_cast<std::int64_t>(slot.columns.size()), outputs, slot.is_float32());
    has_one_output = read.has_one_output, has_negative = read.has_negative;
    program_.ensembles.push_back(std::move(read.ensemble));
    slot.role = Slot::Role::kCells;
    has_predictor_ = true;
    return made(node, CellCode::kTrees, slot, {static_cast<double>(program_.ensembles.size() - 1)});
  }
  Slot with_base(const OnnxNode& node, const Slot& sums) {
    const std::vector<double>& base = node.reals("base_values");
    if (base.empty()) return sums;
    if (base.size() != sums.columns.size())
      node.refuse(fmt::format("it has {} base values for {} outputs", base.size(), sums.columns.size()));
    return made(node, CellCode::kAdd, sums, base);
  }

  void read_classes(const OnnxNode& node, std::string_view numbers, std::string_view texts) {
    std::vector<std::string> classes;
    for (const std::int64_t number : node.integers(numbers)) classes.push_back(std::to_string(number));
    for (const std::string_view text : node.texts(texts)) classes.emplace_back(text);
    if (classes.size() < 2 || static_cast<std::int64_t>(classes.size()) > kMostClasses)
      node.refuse(fmt::format("it has {} classes, must have 2 to {}", classes.size(), kMostClasses));
    if (!info_.classes.empty() && info_.classes != classes) node.refuse("a second classifier has other classes");
    info_.classes = std::move(classes);
  }
  void put_answers(const OnnxNode& node, std::vector<std::int32_t> label, Slot scores) {
    put(node, node.output(0), {.type = OnnxType::kInt64, .columns = std::move(label), .role = Slot::Role::kLabel});
    put(node, node.output(1), std::move(scores));
  }
  void classify(const OnnxNode& node) {
    read_classes(node, "classlabels_ints", "classlabels_strings");
    const auto n_classes = static_cast<std::int64_t>(info_.classes.size());
    const auto targets = std::max<std::int64_t>(1, static_cast<std::int64_t>(node.reals("intercepts").size()));
    if (targets != n_classes)
      node.refuse(fmt::format("it has {} rows of coefficients for {} classes", targets, n_classes));
    const Slot scores = dot(node, targets);
    std::vector<std::int32_t> label = add(node, {CellCode::kFirstLargest, true, scores.columns, {}});
    Slot shares = transformed(node, scores);
    shares.role = node.text("post_transform", "NONE") == "NONE" ? Slot::Role::kScores : Slot::Role::kShares;
    put_answers(node, std::move(label), std::move(shares));
  }
  void classify_by_trees(const OnnxNode& node) {
    read_classes(node, "classlabels_int64s", "classlabels_strings");
    const auto n_classes = static_cast<std::int64_t>(info_.classes.size());
    bool has_one_output = false, has_negative = false;
    Slot sums = trees(node, "class", n_classes, has_one_output, has_negative);
    sums.type = OnnxType::kFloat;
    if (n_classes == 2 && has_one_output) return classify_by_one_sum(node, sums, has_negative);
    if (n_classes == 2 && !node.reals("base_values").empty())
      node.refuse("base values beside weights for two classes are not taken");
    sums = with_base(node, sums);
    std::vector<std::int32_t> label = add(node, {CellCode::kFirstLargest, true, sums.columns, {}});
    Slot shares = transformed(node, sums);
    shares.role = Slot::Role::kShares;
    put_answers(node, std::move(label), std::move(shares));
  }
  // Two classes, of which one has all weights: its share, if none is negative, otherwise a margin. With LOGISTIC, too,
  // onnxruntime parts shares at one half before it transforms them.
  void classify_by_one_sum(const OnnxNode& node, Slot sums, bool has_negative) {
    const auto id = static_cast<std::size_t>(node.integers("class_ids").front());
    if (id != 0 && node.find("base_values"))
      node.refuse("base values beside weights for the second class alone are not taken");
    sums.columns = {sums.columns[id]};
    sums = with_base(node, sums);
    const std::string_view how = node.text("post_transform", "NONE");
    if (how != "NONE" && how != "LOGISTIC")
      node.refuse(fmt::format("post_transform '{}' of one sum for two classes is not taken", how.substr(0, 40)));
    std::vector<std::int32_t> label = add(node, {CellCode::kAbove, true, sums.columns, {has_negative ? 0.0 : 0.5}});
    Slot other = made(node, CellCode::kMultiply, sums, {-1});
    if (!has_negative && how == "NONE") other = made(node, CellCode::kAdd, other, {1});
    Slot shares = sums;
    shares.columns.insert(shares.columns.begin(), other.columns.begin(), other.columns.end());
    shares = transformed(node, shares);
    shares.role = Slot::Role::kShares;
    put_answers(node, std::move(label), std::move(shares));
  }

  static const std::array<Operator, 23> kOperators;

  const OnnxGraph& graph_;
};

constexpr std::int64_t code(CellCode code) {
  return static_cast<std::int64_t>(code);
}

const std::array<Operator, 23> Compiler::kOperators{{{"Add", &Compiler::calculate, code(CellCode::kAdd)},
                                                     {"ArrayFeatureExtractor", &Compiler::pick},
                                                     {"Cast", &Compiler::cast},
                                                     {"Concat", &Compiler::concat},
                                                     {"Div", &Compiler::calculate, code(CellCode::kDivide)},
                                                     {"Exp", &Compiler::each, code(CellCode::kExp)},
                                                     {"FeatureVectorizer", &Compiler::vectorize},
                                                     {"Gather", &Compiler::pick},
                                                     {"Identity", &Compiler::same},
                                                     {"Imputer", &Compiler::impute},
                                                     {"LabelEncoder", &Compiler::encode},
                                                     {"LinearClassifier", &Compiler::classify},
                                                     {"LinearRegressor", &Compiler::regress},
                                                     {"MatMul", &Compiler::multiply_matrix},
                                                     {"Mul", &Compiler::calculate, code(CellCode::kMultiply)},
                                                     {"Normalizer", &Compiler::normalize},
                                                     {"OneHotEncoder", &Compiler::one_hot},
                                                     {"Reshape", &Compiler::reshape},
                                                     {"Scaler", &Compiler::scale},
                                                     {"Sub", &Compiler::calculate, code(CellCode::kSubtract)},
                                                     {"TreeEnsembleClassifier", &Compiler::classify_by_trees},
                                                     {"TreeEnsembleRegressor", &Compiler::regress_by_trees},
                                                     {"ZipMap", &Compiler::zip_map}}};

}   // namespace

ImportedModel import_onnx(std::string_view file) {
  const OnnxGraph graph = read_onnx(file);
  return Compiler(graph).compile();
}

}   // namespace kedge::engine
