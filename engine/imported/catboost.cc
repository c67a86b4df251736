// CatBoost's models of the JSON form: oblivious trees on columns of numbers, as a program with ordinary trees in it.
#include <algorithm>
#include <array>

#include "engine/imported/imported_model.h"
#include "engine/imported/place.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMostDepth = 16;   // CatBoost's own bound
constexpr std::int64_t kMostClasses = 1 << 16;

[[noreturn]] void refuse(const Place& place, const std::string& problem) {
  throw Error(ErrorCode::kInvalidValue, place.path() + ": " + problem);
}

enum class Link { kIdentity, kExp, kTwoClasses, kSoftmax, kLogistic };
struct Loss {
  std::string_view name;
  Link link = Link::kIdentity;
};
constexpr auto kLosses = std::to_array<Loss>({{"RMSE"},
                                              {"MAE"},
                                              {"Quantile"},
                                              {"MultiQuantile"},
                                              {"MultiRMSE"},
                                              {"Expectile"},
                                              {"MAPE"},
                                              {"Lq"},
                                              {"Huber"},
                                              {"LogCosh"},
                                              {"Poisson", Link::kExp},
                                              {"Tweedie", Link::kExp},
                                              {"YetiRank"},
                                              {"PairLogit"},
                                              {"QueryRMSE"},
                                              {"QuerySoftMax"},
                                              {"Logloss", Link::kTwoClasses},
                                              {"CrossEntropy", Link::kTwoClasses},
                                              {"MultiClass", Link::kSoftmax},
                                              {"MultiClassOneVsAll", Link::kLogistic}});

class Reader {
 public:
  explicit Reader(const Place& model) : model_(model) {}

  ImportedModel read() {
    read_columns();
    read_scale();
    read_trees();
    link();
    describe();
    return {.info = std::move(info_), .program = std::move(program_)};
  }

 private:
  void read_columns() {
    const Place features = model_.at("features_info");
    for (const char* kind : {"categorical_features", "text_features", "embedding_features", "ctrs"})
      if (const auto found = features.find(kind); found && !found->items().empty())
        refuse(*found, "only columns of numbers are taken");
    for (const Place& feature : features.at("float_features").items()) {
      const auto n = static_cast<std::int64_t>(info_.columns.size());
      feature.at("feature_index").integer(n, n);
      feature.at("flat_feature_index").integer(n, n);
      const std::optional<Place> id = feature.find("feature_id");
      info_.columns.push_back({.name = id && !id->text().empty() ? id->text() : std::to_string(n)});
      const std::optional<Place> missing = feature.find("nan_value_treatment");
      missing_is_above_.push_back(missing && missing->text() == "AsTrue");
    }
    program_.n_cols = static_cast<std::int64_t>(info_.columns.size());
    if (program_.n_cols < 1 || program_.n_cols > kMostCells / 4)
      features.at("float_features").fail("has {} columns, must have 1 to {}", program_.n_cols, kMostCells / 4);
  }
  void read_scale() {
    const Place place = model_.at("scale_and_bias");
    const std::vector<Place> pair = place.items();
    if (pair.size() != 2) place.fail("has {} values, must have 2", pair.size());
    scale_ = pair[0].number(), bias_ = pair[1].numbers();
    for (const double bias : bias_)
      if (!std::isfinite(bias)) place.fail("has a bias that is not finite");
    if (!std::isfinite(scale_)) place.fail("has a scale that is not finite");
    if (bias_.empty() || static_cast<std::int64_t>(bias_.size()) > kMostClasses)
      place.fail("has {} biases, must have 1 to {}", bias_.size(), kMostClasses);
  }

  void read_trees() {
    if (const auto other = model_.find("trees")) refuse(*other, "trees that are not oblivious are not taken");
    LeafyTrees& ensemble = program_.ensembles.emplace_back();
    TreeEnsemble& trees = ensemble.trees;
    trees.source = "catboost", trees.objective = "";
    trees.is_float32 = false, trees.is_strict = false;
    trees.n_cols = program_.n_cols, trees.n_outputs = static_cast<std::int32_t>(bias_.size());
    trees.base.assign(bias_.size(), 0.0);
    for (const Place& place : model_.at("oblivious_trees").items()) append(place, ensemble);
  }
  // Bit i of a leaf's number: whether the row is above the border of split i. So the last split is the root's.
  void append(const Place& place, LeafyTrees& ensemble) {
    SourceTree tree;
    std::vector<Place> splits;
    if (const auto found = place.find("splits")) splits = found->items();
    const auto depth = static_cast<std::int64_t>(splits.size());
    if (depth > kMostDepth) place.at("splits").fail("has {} splits, at most {} are taken", depth, kMostDepth);
    const std::size_t n_outputs = bias_.size(), n_leaves = std::size_t{1} << depth;
    const std::vector<double> values = place.at("leaf_values").numbers(n_leaves * n_outputs);
    for (std::int64_t level = depth - 1; level >= 0; --level) {
      const Place& split = splits[static_cast<std::size_t>(level)];
      if (const Place type = split.at("split_type"); type.text() != "FloatFeature")
        refuse(type, "is '" + type.text() + "', taken is FloatFeature");
      const auto column = static_cast<std::int32_t>(split.at("float_feature_index").integer(0, program_.n_cols - 1));
      const double border = static_cast<double>(static_cast<float>(split.at("border").number()));
      const std::uint8_t flags = missing_is_above_[static_cast<std::size_t>(column)] ? 0 : node_flag::kMissingLeft;
      const auto first = static_cast<std::int32_t>(tree.left.size());
      const std::int32_t n = 1 << (depth - 1 - level);   // nodes of this level, in order
      for (std::int32_t i = 0; i < n; ++i) {
        tree.feature.push_back(column), tree.threshold.push_back(border), tree.flags.push_back(flags);
        tree.left.push_back(first + n + 2 * i), tree.right.push_back(first + n + 2 * i + 1);
      }
    }
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
      double value = values[leaf];
      if (n_outputs > 1) {
        value = static_cast<double>(ensemble.leaf_values.size() / n_outputs);
        ensemble.leaf_values.insert(ensemble.leaf_values.end(),
                                    values.begin() + static_cast<std::ptrdiff_t>(leaf * n_outputs),
                                    values.begin() + static_cast<std::ptrdiff_t>((leaf + 1) * n_outputs));
      }
      tree.feature.push_back(-1), tree.threshold.push_back(value), tree.flags.push_back(0);
      tree.left.push_back(-1), tree.right.push_back(-1);
    }
    for (const double value : values)
      if (!std::isfinite(value)) place.at("leaf_values").fail("has a value that is not finite");
    append_tree(tree, 0, place.path() + ": ", ensemble.trees);
  }

  // --- from sums to answers ---

  std::vector<std::int32_t> add(CellOp op) {
    const std::int64_t n = columns_added(program_, op, "CatBoost model");
    std::vector<std::int32_t> columns;
    for (std::int64_t j = 0; j < n; ++j) columns.push_back(static_cast<std::int32_t>(n_cells_++));
    if (n_cells_ > kMostCells) refuse(model_, fmt::format("it makes more than {} columns", kMostCells));
    program_.ops.push_back(std::move(op));
    return columns;
  }
  Place loss_place() const { return model_.at("model_info").at("params").at("loss_function").at("type"); }
  Link link_of() const {
    const Place place = loss_place();
    const auto* const found = std::ranges::find(kLosses, place.text(), &Loss::name);
    if (found == kLosses.end()) refuse(place, fmt::format("is '{}', which is not known here", place.text()));
    return found->link;
  }
  void link() {
    n_cells_ = program_.n_cols;
    std::vector<std::int32_t> rows;
    for (std::int64_t j = 0; j < program_.n_cols; ++j) rows.push_back(static_cast<std::int32_t>(j));
    const std::size_t n = bias_.size();
    std::vector<std::int32_t> sums = add({CellCode::kTrees, false, add({CellCode::kRound, false, rows, {}}), {0}});
    if (scale_ != 1) sums = add({CellCode::kMultiply, false, sums, std::vector<double>(n, scale_)});
    sums = add({CellCode::kAdd, false, sums, bias_});
    const Link link = link_of();
    if (link == Link::kIdentity || link == Link::kExp) {
      if (link == Link::kExp)
        program_.outputs.push_back({"predict", false, false, add({CellCode::kExp, false, sums, {}})});
      else program_.outputs.push_back({"predict", false, false, sums});
      return;
    }
    read_classes(link == Link::kTwoClasses ? 2 : n);
    if (link == Link::kTwoClasses) {
      if (n != 1) model_.at("scale_and_bias").fail("has {} biases, must have 1", n);
      program_.outputs.push_back({"predict", true, false, add({CellCode::kAbove, false, sums, {0}})});
      const std::vector<std::int32_t> second = add({CellCode::kLogistic, false, sums, {}});
      const std::vector<std::int32_t> first =
          add({CellCode::kAdd, false, add({CellCode::kMultiply, false, second, {-1}}), {1}});
      program_.outputs.push_back({"predict_proba", false, false, {first[0], second[0]}});
      return;
    }
    program_.outputs.push_back({"predict", true, false, add({CellCode::kFirstLargest, false, sums, {}})});
    const CellCode code = link == Link::kSoftmax ? CellCode::kSoftmax : CellCode::kLogistic;
    program_.outputs.push_back({"predict_proba", false, false, add({code, false, sums, {}})});
    program_.outputs.push_back({"decision_function", false, false, sums});
  }
  void read_classes(std::size_t n) {
    const Place info = model_.at("model_info");
    const std::optional<Place> names = info.at("class_params").find("class_names");
    if (!names) info.at("class_params").fail("has no 'class_names'");
    if (const auto* const numbers = names->flat())
      for (const double number : *numbers) info_.classes.push_back(fmt::format("{}", number));
    else
      for (const Place& name : names->items()) info_.classes.push_back(name.label());
    if (info_.classes.size() != n || n < 2) names->fail("has {} names for {} classes", info_.classes.size(), n);
  }

  void describe() {
    program_.ensembles[0].trees.objective = loss_place().text();
    info_.pipeline = {{kCatBoostTrees,
                       {{"source", "catboost"},
                        {"objective", loss_place().text()},
                        {"n_trees", program_.ensembles[0].trees.n_trees()},
                        {"n_nodes", program_.n_nodes()}}}};
    info_.dtype = "float64";
    for (const CellOutput& output : program_.outputs) info_.outputs.push_back(output.name);
  }

  const Place model_;
  CellProgram program_;
  schema::ModelInfo info_;
  std::vector<bool> missing_is_above_;
  double scale_ = 1;
  std::vector<double> bias_;
  std::int64_t n_cells_ = 0;
};

}   // namespace

bool is_catboost(const schema::Value& document) {
  const auto* const map = std::get_if<schema::ValueMap>(&document.data);
  return map && find_value(*map, "features_info") && (find_value(*map, "oblivious_trees") || find_value(*map, "trees"));
}

ImportedModel import_catboost(const schema::Value& document) {
  return Reader(Place(document, "CatBoost model")).read();
}

}   // namespace kedge::engine
