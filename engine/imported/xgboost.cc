// XGBoost's models, of the document that JSON and UBJSON share.
#include <algorithm>
#include <array>

#include "engine/imported/imported_model.h"
#include "engine/imported/place.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMostCategories = 1 << 24;
constexpr std::int64_t kMostClasses = 1 << 16;
constexpr std::int64_t kMostUnnamed = 1 << 16;   // columns, whose names are made here

struct Objective {
  std::string_view name;
  EnsembleLink link = EnsembleLink::kIdentity;
  bool is_classifier = false;
  enum class Base { kMargin, kLogit, kLog } base = Base::kMargin;   // from base_score to where the sums begin
};

using enum EnsembleLink;
constexpr auto kObjectives = std::to_array<Objective>({
    {"reg:squarederror"},
    {"reg:squaredlogerror"},
    {"reg:linear"},
    {"reg:pseudohubererror"},
    {"reg:absoluteerror"},
    {"reg:quantileerror"},
    {"reg:expectileerror"},
    {"reg:logistic", kSigmoid, false, Objective::Base::kLogit},
    {"reg:gamma", kExp, false, Objective::Base::kLog},
    {"reg:tweedie", kExp, false, Objective::Base::kLog},
    {"count:poisson", kExp, false, Objective::Base::kLog},
    {"survival:cox", kExp, false, Objective::Base::kLog},
    {"survival:aft", kExp, false, Objective::Base::kLog},
    {"binary:logistic", kSigmoid, true, Objective::Base::kLogit},
    {"binary:logitraw", kIdentity, true, Objective::Base::kLogit},
    {"binary:hinge", kStep, true},
    {"multi:softprob", kSoftmax, true},
    {"multi:softmax", kSoftmax, true},
    {"rank:pairwise"},
    {"rank:ndcg"},
    {"rank:map"},
});

const Objective& objective_of(const Place& learner) {
  const Place name = learner.at("objective").at("name");
  const auto* const found = std::ranges::find(kObjectives, name.text(), &Objective::name);
  if (found == kObjectives.end())
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} is '{}', which is not known here", name.path(), name.text()));
  return *found;
}

// The string "5E-1", or since XGBoost 3.1 "[5E-1,2E-1]".
std::vector<double> base_scores(const Place& param) {
  const Place place = param.at("base_score");
  std::string_view text = place.text();
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<double> scores;
  while (!text.empty()) {
    float score = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), score);
    if (error != std::errc()) place.fail("is '{}', must be numbers", place.text());
    scores.push_back(static_cast<double>(score));
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') place.fail("is '{}', must be numbers with commas between them", place.text());
    text.remove_prefix(1);
  }
  if (scores.empty()) place.fail("has no number");
  return scores;
}

float margin_of(const Objective& objective, float score, const Place& param) {
  float margin = score;
  if (objective.base == Objective::Base::kLogit) margin = -std::log(1.0F / score - 1.0F);
  if (objective.base == Objective::Base::kLog) margin = std::log(score);
  if (!std::isfinite(margin)) param.at("base_score").fail("is {}, which {} does not take", score, objective.name);
  return margin;
}

void read_sums(const Place& learner, const Objective& objective, TreeEnsemble& trees) {
  const Place param = learner.at("learner_model_param");
  trees.n_cols = param.at("num_feature").integer(1, kMaxSize);
  const std::int64_t n_classes = param.at("num_class").integer(0, kMostClasses);
  const std::optional<Place> targets = param.find("num_target");
  const std::int64_t n_targets = targets ? targets->integer(0, kMostClasses) : 1;
  if (objective.link == kSoftmax && n_classes < 2) param.at("num_class").fail("is {}, must be at least 2", n_classes);
  if (objective.is_classifier && n_targets > 1)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("XGBoost model: it has {} targets of classes, 1 is taken", n_targets));
  trees.n_outputs = static_cast<std::int32_t>(std::max<std::int64_t>({1, n_classes, n_targets}));
  const std::vector<double> scores = base_scores(param);
  if (scores.size() != 1 && scores.size() != static_cast<std::size_t>(trees.n_outputs))
    param.at("base_score").fail("has {} numbers, must have 1 or {}", scores.size(), trees.n_outputs);
  for (std::int32_t k = 0; k < trees.n_outputs; ++k) {
    const double score = scores.size() == 1 ? scores[0] : scores[static_cast<std::size_t>(k)];
    trees.base.push_back(static_cast<double>(margin_of(objective, static_cast<float>(score), param)));
  }
}

void read_sets(const Place& place, std::size_t n, SourceTree& tree) {
  const auto nodes = place.at("categories_nodes").integers<std::int64_t>(0, static_cast<std::int64_t>(n) - 1);
  const auto categories = place.at("categories").integers<std::uint32_t>(0, kMostCategories - 1);
  const auto size = static_cast<std::int64_t>(categories.size());
  const auto segments = place.at("categories_segments").integers<std::int64_t>(nodes.size(), 0, size);
  const auto sizes = place.at("categories_sizes").integers<std::int64_t>(nodes.size(), 0, size);
  std::int64_t words = 0;   // a set of one large category is long
  if (!nodes.empty()) tree.sets.resize(n);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (segments[i] + sizes[i] > size) place.at("categories_sizes").fail("[{}] leaves the categories", i);
    auto& set = tree.sets[static_cast<std::size_t>(nodes[i])];
    if (!set.empty()) place.at("categories_nodes").fail("names node {} twice", nodes[i]);
    for (std::int64_t c = segments[i]; c < segments[i] + sizes[i]; ++c) {
      const std::uint32_t category = categories[static_cast<std::size_t>(c)];
      if (category / 32 >= set.size()) {
        words += category / 32 + 1 - static_cast<std::int64_t>(set.size());
        if (words > (std::int64_t{1} << 22)) place.at("categories").fail("the sets take more than 16 MiB");
        set.resize(category / 32 + 1);
      }
      set[category / 32] |= 1U << category % 32;
    }
  }
}

// The categories of a set go right in XGBoost, left here: such nodes are mirrored.
SourceTree read_tree(const Place& place) {
  const Place param = place.at("tree_param");
  if (const auto leaves = param.find("size_leaf_vector"); leaves && leaves->integer(0, kMostClasses) > 1)
    throw Error(ErrorCode::kInvalidValue, leaves->path() +
                                              ": trees with several values in a leaf "
                                              "(multi_strategy multi_output_tree) are not taken");
  SourceTree tree;
  tree.left = place.at("left_children").integers<std::int32_t>(-1, kMaxSize);
  const std::size_t n = tree.left.size();
  if (param.at("num_nodes").integer(0, kMaxSize) != static_cast<std::int64_t>(n))
    param.at("num_nodes").fail("is not the number of left_children, {}", n);
  tree.right = place.at("right_children").integers<std::int32_t>(n, -1, kMaxSize);
  tree.feature = place.at("split_indices").integers<std::int32_t>(n, 0, kMaxSize);
  tree.threshold = place.at("split_conditions").numbers(n);
  for (double& value : tree.threshold) value = static_cast<double>(static_cast<float>(value));
  if (const std::optional<Place> hessian = place.find("sum_hessian")) tree.cover = hessian->numbers(n);
  const auto missing_left = place.at("default_left").integers<std::uint8_t>(n, 0, 1);
  const std::optional<Place> types = place.find("split_type");
  const auto is_set = types ? types->integers<std::uint8_t>(n, 0, 1) : std::vector<std::uint8_t>(n);
  if (types && place.find("categories_nodes")) read_sets(place, n, tree);
  tree.flags.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    tree.flags[i] = missing_left[i];
    if (tree.left[i] < 0 || !is_set[i]) continue;
    tree.flags[i] = static_cast<std::uint8_t>(node_flag::kCategory | (1 - missing_left[i]));
    std::swap(tree.left[i], tree.right[i]);
    if (tree.left[i] < 0) place.fail("node {} has one child", i);
  }
  return tree;
}

// How many trees answer: those up to the best iteration, where the file names one.
std::int64_t trees_that_answer(const Place& learner, const Place& model, std::int64_t n_trees, std::int32_t n_outputs) {
  const std::optional<Place> attributes = learner.find("attributes");
  const std::optional<Place> best = attributes ? attributes->find("best_iteration") : std::nullopt;
  if (!best) return n_trees;
  const std::int64_t iterations = best->integer(0, kMaxSize) + 1;
  if (const std::optional<Place> ends = model.find("iteration_indptr")) {
    const auto offsets = ends->integers<std::int64_t>(0, n_trees);
    if (static_cast<std::size_t>(iterations) >= offsets.size()) best->fail("is beyond the last iteration");
    return offsets[static_cast<std::size_t>(iterations)];
  }
  const std::int64_t parallel = model.at("gbtree_model_param").at("num_parallel_tree").integer(1, kMaxSize);
  return std::min(n_trees, iterations * parallel * n_outputs);
}

// The weight of each tree in DART; none: all count as they are.
std::vector<double> weights_of(const Place& booster, std::size_t n_trees) {
  const std::string& name = booster.at("name").text();
  if (name == "gbtree") return {};
  if (name == "dart") return booster.at("weight_drop").numbers(n_trees);
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("{}.name is '{}', taken are gbtree and dart", booster.path(), name));
}

void read_trees(const Place& learner, TreeEnsemble& trees) {
  const Place booster = learner.at("gradient_booster");
  const Place name = booster.at("name");
  if (name.text() != "gbtree" && name.text() != "dart") weights_of(booster, 0);
  const Place model = (name.text() == "dart" ? booster.at("gbtree") : booster).at("model");
  const std::vector<Place> all = model.at("trees").items();
  const auto n_trees = static_cast<std::int64_t>(all.size());
  const auto outputs = model.at("tree_info").integers<std::int32_t>(all.size(), 0, trees.n_outputs - 1);
  const std::vector<double> weights = weights_of(booster, all.size());
  const std::int64_t n_used = trees_that_answer(learner, model, n_trees, trees.n_outputs);
  for (std::size_t t = 0; t < static_cast<std::size_t>(n_used); ++t) {
    SourceTree tree = read_tree(all[t]);
    for (std::size_t i = 0; i < tree.left.size() && !weights.empty(); ++i)
      if (tree.left[i] < 0)
        tree.threshold[i] = static_cast<double>(static_cast<float>(tree.threshold[i]) * static_cast<float>(weights[t]));
    append_tree(tree, outputs[t], all[t].path() + ": ", trees);
  }
}

// The names of a column's categories: texts one after the other, or numbers. Empty: they are codes.
std::vector<std::string> category_names(const Place& column) {
  std::vector<std::string> names;
  const std::optional<Place> offsets = column.find("offsets");
  if (!offsets) {
    for (const double value : column.at("values").numbers()) names.push_back(fmt::format("{}", value));
    return names;
  }
  const auto bytes = column.at("values").integers<std::int16_t>(-128, 255);
  const auto ends = offsets->integers<std::size_t>(0, static_cast<std::int64_t>(bytes.size()));
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (ends[i] > ends[i + 1]) offsets->fail("does not ascend");
    std::string& name = names.emplace_back();
    for (std::size_t b = ends[i]; b < ends[i + 1]; ++b) name += static_cast<char>(bytes[b]);
  }
  return names;
}

void read_columns(const Place& learner, std::int64_t n_cols, schema::ModelInfo& info) {
  const std::optional<Place> names = learner.find("feature_names");
  const std::vector<Place> given = names ? names->items() : std::vector<Place>();
  if (!given.empty() && given.size() != static_cast<std::size_t>(n_cols))
    names->fail("has {} names, num_feature is {}", given.size(), n_cols);
  if (given.empty() && n_cols > kMostUnnamed)
    learner.at("learner_model_param")
        .at("num_feature")
        .fail("is {}, without names at most {} are taken", n_cols, kMostUnnamed);
  for (std::int64_t j = 0; j < n_cols; ++j)
    info.columns.push_back({.name = given.empty() ? fmt::format("f{}", j) : given[static_cast<std::size_t>(j)].text()});
  const Place booster = learner.at("gradient_booster");
  const std::optional<Place> inner = booster.find("gbtree");
  const std::optional<Place> cats = (inner ? *inner : booster).at("model").find("cats");
  if (!cats) return;
  const std::vector<Place> columns = cats->at("enc").items();
  if (columns.empty()) return;
  if (columns.size() != info.columns.size())
    cats->at("enc").fail("has {} columns, num_feature is {}", columns.size(), n_cols);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    info.columns[j].categories = category_names(columns[j]);
    if (!info.columns[j].categories.empty()) info.columns[j].kind = "category";
  }
}

}   // namespace

ImportedModel import_xgboost(const schema::Value& document) {
  const Place learner = Place(document, "XGBoost model").at("learner");
  const Objective& objective = objective_of(learner);
  ImportedModel model;
  model.trees.source = "xgboost";
  model.trees.objective = objective.name;
  model.trees.link = objective.link, model.trees.is_classifier = objective.is_classifier;
  read_sums(learner, objective, model.trees);
  read_columns(learner, model.trees.n_cols, model.info);
  read_trees(learner, model.trees);
  if (model.trees.cover.size() != model.trees.feature.size()) model.trees.cover.clear();   // some trees have none
  describe_trees(model.trees, model.info);
  return model;
}

}   // namespace kedge::engine
