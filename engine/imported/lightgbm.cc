// LightGBM's models: the text form, version 4 (and 3, which says the same).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/imported/imported_model.h"
#include "engine/imported/place.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using enum EnsembleLink;

constexpr std::int64_t kMostClasses = 1 << 16;
constexpr std::uint8_t kIsCategory = 1, kDefaultLeft = 2;   // bits of decision_type; two more for what is missing

template <class... Args>
[[noreturn]] void fail(const std::string& place, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ErrorCode::kModelCorrupt,
              fmt::format("LightGBM model: {}: {}", place, fmt::format(text, std::forward<Args>(args)...)));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t size = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

// The lines "key=value" up to an empty one; the place for messages.
struct Section {
  std::string place;
  std::vector<std::pair<std::string_view, std::string_view>> values;

  const std::string_view* find(std::string_view key) const {
    for (const auto& [name, value] : values)
      if (name == key) return &value;
    return nullptr;
  }
  std::string_view at(std::string_view key) const {
    const std::string_view* const value = find(key);
    if (!value) fail(place, "has no '{}'", key);
    return *value;
  }
  template <class V>
  std::vector<V> list(std::string_view key) const {
    std::vector<V> numbers;
    for (const std::string_view word : words_of(at(key))) {
      V& number = numbers.emplace_back();
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || end != word.data() + word.size())
        fail(place, "{}[{}] is '{}', must be a number", key, numbers.size() - 1, word.substr(0, 40));
    }
    return numbers;
  }
  template <class V>
  std::vector<V> list(std::string_view key, std::size_t size) const {
    std::vector<V> numbers = list<V>(key);
    if (numbers.size() != size) fail(place, "{} has {} numbers, must have {}", key, numbers.size(), size);
    return numbers;
  }
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const {
    const std::int64_t number = list<std::int64_t>(key, 1).front();
    if (number < low || number > high) fail(place, "{} is {}, must be from {} to {}", key, number, low, high);
    return number;
  }
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool is_end() const { return text_.empty(); }
  std::string_view peek() const {
    std::string_view line = text_.substr(0, text_.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  std::string_view next() {
    const std::string_view line = peek();
    text_.remove_prefix(std::min(text_.find('\n'), text_.size() - 1) + 1);
    return line;
  }
  void skip_empty() {
    while (!is_end() && peek().empty()) next();
  }
  Section section(std::string place) {
    Section section{.place = std::move(place)};
    for (skip_empty(); !is_end() && !peek().empty();) {
      const std::string_view line = next();
      const std::size_t equals = std::min(line.find('='), line.size());
      section.values.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
    }
    return section;
  }

 private:
  std::string_view text_;
};

struct Objective {
  std::string_view name;
  EnsembleLink link = kIdentity;
  bool is_classifier = false;
};
constexpr auto kObjectives = std::to_array<Objective>({
    {"binary", kSigmoid, true},
    {"multiclass", kSoftmax, true},
    {"softmax", kSoftmax, true},
    {"multiclassova", kSigmoid, true},
    {"regression"},
    {"regression_l1"},
    {"huber"},
    {"fair"},
    {"quantile"},
    {"mape"},
    {"poisson", kExp},
    {"gamma", kExp},
    {"tweedie", kExp},
    {"cross_entropy", kSigmoid},
    {"cross_entropy_lambda", kLog1pExp},
    {"lambdarank"},
    {"rank_xendcg"},
});

double sigmoid_scale(const std::vector<std::string_view>& words) {
  constexpr std::string_view kKey = "sigmoid:";
  for (const std::string_view word : words) {
    if (!word.starts_with(kKey)) continue;
    double scale = 0;
    const auto [end, error] = std::from_chars(word.data() + kKey.size(), word.data() + word.size(), scale);
    if (error != std::errc() || end != word.data() + word.size() || !(scale > 0) || !std::isfinite(scale))
      fail("header", "objective has '{}', must be a number above 0", word.substr(0, 40));
    return scale;
  }
  return 1;
}

// Without an objective, which users may have written themselves, the sums are the answer.
void read_objective(const Section& header, TreeEnsemble& trees) {
  const std::string_view* const line = header.find("objective");
  const std::vector<std::string_view> words = line ? words_of(*line) : std::vector<std::string_view>();
  if (words.empty() || words[0] == "custom" || words[0] == "none") return void(trees.objective = "custom");
  const auto* const found = std::ranges::find(kObjectives, words[0], &Objective::name);
  if (found == kObjectives.end())
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("LightGBM model: the objective is '{}', which is not known here", words[0].substr(0, 40)));
  trees.objective = found->name, trees.link = found->link, trees.is_classifier = found->is_classifier;
  if (found->name == "binary" || found->name == "multiclassova") trees.link_scale = sigmoid_scale(words);
  if (std::ranges::find(words, "sqrt") != words.end()) trees.link = kSignedSquare;
  const bool has_classes = trees.n_outputs > 1 || found->name == "binary";
  if (trees.is_classifier && !has_classes) fail("header", "num_tree_per_iteration is 1, {} needs 2", found->name);
}

std::uint8_t flags_of(int decision) {
  if (decision & kIsCategory) return node_flag::kCategory;
  const std::uint8_t left = decision & kDefaultLeft ? node_flag::kMissingLeft : 0;
  switch (decision >> 2 & 3) {
    case 0:
      return node_flag::kMissingIsZero;
    case 1:
      return left | node_flag::kZeroIsMissing;
    default:
      return left;
  }
}

void read_sets(const Section& section, const std::vector<int>& decisions, SourceTree& tree) {
  const std::int64_t n_sets = section.integer("num_cat", 0, kMaxSize);
  if (n_sets == 0) {
    for (const int decision : decisions)
      if (decision & kIsCategory) fail(section.place, "decision_type has a cut on categories, num_cat is 0");
    return;
  }
  const auto words = section.list<std::uint32_t>("cat_threshold");
  const auto bounds = section.list<std::int64_t>("cat_boundaries");
  if (static_cast<std::int64_t>(bounds.size()) != n_sets + 1)
    fail(section.place, "cat_boundaries has {} numbers, must have {}", bounds.size(), n_sets + 1);
  tree.sets.resize(decisions.size());
  std::vector<bool> is_used(static_cast<std::size_t>(n_sets));
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!(decisions[i] & kIsCategory)) continue;
    const double place = tree.threshold[i];
    if (!(place >= 0 && place < static_cast<double>(n_sets)))
      fail(section.place, "threshold[{}] is {}, must name one of {} sets of categories", i, place, n_sets);
    const auto set = static_cast<std::size_t>(place);
    const std::int64_t begin = bounds[set], end = bounds[set + 1];
    if (begin < 0 || begin > end || end > static_cast<std::int64_t>(words.size()))
      fail(section.place, "cat_boundaries[{}] leaves cat_threshold", set);
    if (is_used[set]) fail(section.place, "threshold[{}] names set {}, which another node has", i, set);
    is_used[set] = true;
    tree.sets[i].assign(words.begin() + begin, words.begin() + end);
  }
}

std::int32_t leaf_place(std::size_t n_cuts, std::int32_t child) {
  const std::int64_t place = static_cast<std::int64_t>(n_cuts) - 1 - child;
  return static_cast<std::int32_t>(std::min<std::int64_t>(place, kMaxSize));   // out of range: refused later
}

// Cuts come first, leaves behind them; in the file a leaf c is the child -c - 1.
SourceTree read_tree(const Section& section) {
  if (const std::string_view* linear = section.find("is_linear"); linear && *linear != "0")
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("LightGBM model: {}: linear models in leaves (linear_tree) are not taken", section.place));
  const auto n_leaves = static_cast<std::size_t>(section.integer("num_leaves", 1, kMaxSize / 2));
  const std::size_t n_cuts = n_leaves - 1;
  const auto leaves = section.list<double>("leaf_value", n_leaves);
  SourceTree tree;
  if (n_cuts > 0) {
    tree.feature = section.list<std::int32_t>("split_feature", n_cuts);
    tree.threshold = section.list<double>("threshold", n_cuts);
    tree.left = section.list<std::int32_t>("left_child", n_cuts);
    tree.right = section.list<std::int32_t>("right_child", n_cuts);
    const auto decisions = section.list<int>("decision_type", n_cuts);
    for (std::vector<std::int32_t>* children : {&tree.left, &tree.right})
      for (std::int32_t& child : *children)
        if (child < 0) child = leaf_place(n_cuts, child);
    for (const int decision : decisions) {
      if (decision < 0 || decision > 15) fail(section.place, "decision_type has {}, must be from 0 to 15", decision);
      tree.flags.push_back(flags_of(decision));
    }
    read_sets(section, decisions, tree);
  }
  if (n_cuts > 0 && section.find("internal_count") && section.find("leaf_count")) {
    tree.cover = section.list<double>("internal_count", n_cuts);
    const auto of_leaves = section.list<double>("leaf_count", n_leaves);
    tree.cover.insert(tree.cover.end(), of_leaves.begin(), of_leaves.end());
  }
  const std::size_t n = n_cuts + n_leaves;
  tree.feature.resize(n, -1), tree.left.resize(n, -1), tree.right.resize(n, -1), tree.flags.resize(n, 0);
  tree.threshold.insert(tree.threshold.end(), leaves.begin(), leaves.end());
  return tree;
}

schema::Value category_lists(std::string_view json) {
  try {
    return schema::value_from_json(json);
  } catch (const Error& error) {
    fail("pandas_categorical", "{}", error.message);
  }
}

// The names of the categories of pandas columns, in the order of the columns; none where the counts do not agree.
void read_categories(Lines& lines, ImportedModel& model) {
  std::vector<std::size_t> columns;
  constexpr std::string_view kColumns = "[categorical_feature: ", kNames = "pandas_categorical:";
  while (!lines.is_end()) {
    const std::string_view line = lines.next();
    if (line.starts_with(kColumns)) {
      std::string list(line.substr(kColumns.size()));
      std::ranges::replace(list, ',', ' ');
      std::ranges::replace(list, ']', ' ');
      for (const std::string_view word : words_of(list)) {
        std::size_t column = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), column);
        if (error != std::errc() || column >= model.info.columns.size()) return;
        columns.push_back(column);
      }
    }
    if (!line.starts_with(kNames)) continue;
    const std::string_view json = line.substr(kNames.size());
    if (json == "null" || json == "None") return;
    const schema::Value names = category_lists(json);
    const std::vector<Place> lists = Place(names, "LightGBM model: pandas_categorical").items();
    if (lists.size() != columns.size()) return;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      schema::ModelColumn& column = model.info.columns[columns[i]];
      column.kind = "category", column.categories.clear();
      for (const Place& name : lists[i].items()) column.categories.push_back(name.label());
    }
  }
}

void read_header(const Section& header, ImportedModel& model) {
  TreeEnsemble& trees = model.trees;
  trees.source = "lightgbm";
  trees.is_float32 = false, trees.is_strict = false;
  trees.n_cols = header.integer("max_feature_idx", 0, kMaxSize - 1) + 1;
  trees.n_outputs = static_cast<std::int32_t>(header.integer("num_tree_per_iteration", 1, kMostClasses));
  trees.base.assign(static_cast<std::size_t>(trees.n_outputs), 0.0);
  const std::vector<std::string_view> names = words_of(header.at("feature_names"));
  if (names.size() != static_cast<std::size_t>(trees.n_cols))
    fail(header.place, "feature_names has {} names, must have {}", names.size(), trees.n_cols);
  for (const std::string_view name : names) model.info.columns.push_back({.name = std::string(name)});
  read_objective(header, trees);
}

}   // namespace

ImportedModel import_lightgbm(std::string_view text) {
  ImportedModel model;
  Lines lines(text);
  lines.next();   // "tree"
  const Section header = lines.section("header");
  if (const std::string_view version = header.at("version"); version != "v4" && version != "v3")
    fail("header", "version is '{}', taken are v4 and v3", version.substr(0, 40));
  read_header(header, model);
  TreeEnsemble& trees = model.trees;
  for (lines.skip_empty(); !lines.is_end() && lines.peek().starts_with("Tree="); lines.skip_empty()) {
    const std::int64_t t = trees.n_trees();
    const Section section = lines.section(fmt::format("Tree={}", t));
    append_tree(read_tree(section), static_cast<std::int32_t>(t % trees.n_outputs),
                fmt::format("LightGBM model: Tree={}: ", t), trees);
  }
  if (lines.is_end() || lines.next() != "end of trees")
    fail(fmt::format("after Tree={}", trees.n_trees() - 1), "'end of trees' must follow");
  if (trees.n_trees() % trees.n_outputs != 0)
    fail("header", "num_tree_per_iteration is {}, but there are {} trees", trees.n_outputs, trees.n_trees());
  if (header.find("average_output"))
    trees.divisor = static_cast<double>(std::max<std::int64_t>(1, trees.n_trees() / trees.n_outputs));
  if (trees.cover.size() != trees.feature.size()) trees.cover.clear();   // some trees have none
  read_categories(lines, model);
  describe_trees(trees, model.info);
  return model;
}

}   // namespace kedge::engine
