// Compares names by words, kind and spelling.
#include "engine/core/estimator_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr double kLeastByWords = 0.55, kLeastBySpelling = 0.75, kKindWeight = 0.3;
constexpr std::size_t kLongestName = 256;

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "MiniBatchKMeans" is mini, batch, k, means; "RidgeCV" ridge, cv; "random forest" random, forest.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_word_char(name[i])) continue;
    const bool is_first = i == 0 || !is_word_char(name[i - 1]);
    const bool begins = is_upper(name[i]) && !is_first && (!is_upper(name[i - 1]) || (i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1]))));
    if (words.empty() || is_first || begins) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return words;
}

double spelling(std::string_view a, std::string_view b) {   // 1: the same
  return 1 - static_cast<double>(schema::edit_distance(a, b)) / static_cast<double>(std::max<std::size_t>({a.size(), b.size(), 1}));
}

struct KindWord {
  std::string_view stem, kind;
};
constexpr std::array kKindWords{KindWord{"classif", "classifier"}, KindWord{"regress", "regressor"}, KindWord{"cluster", "clusterer"},
                                KindWord{"transform", "transformer"}};

// The kind that a word states, or empty.
std::string_view kind_of(std::string_view word) {
  for (const KindWord& known : kKindWords)
    if (word.starts_with(known.stem)) return known.kind;
  return {};
}

double weight_of(std::string_view word) { return word == "cv" || !kind_of(word).empty() ? kKindWeight : 1; }

double likeness(std::string_view a, std::string_view b) {
  constexpr std::size_t kLeastLetters = 4;   // shorter words are the same or are not
  constexpr double kLeast = 0.7;
  if (a == b) return 1;
  if (!kind_of(a).empty() && kind_of(a) == kind_of(b)) return 0.9;
  const double same = std::min(a.size(), b.size()) < kLeastLetters ? 0 : spelling(a, b);
  return same >= kLeast ? same : 0;
}

// The share of the words that the names have in common, each counted by its weight: 1 for the same words, 0 for none but the kind.
double by_words(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  double common = 0, all = 0;
  bool has_name = false;
  for (const std::string& word : b) all += weight_of(word);
  for (const std::string& word : a) {
    double best = 0;
    for (const std::string& other : b) best = std::max(best, likeness(word, other));
    has_name = has_name || (best > 0 && weight_of(word) == 1);
    common += 2 * best * weight_of(word);
    all += weight_of(word);
  }
  return has_name ? common / all : 0;
}

struct Wanted {
  std::string_view name;
  std::vector<std::string> words;
  std::string_view kind;   // that the name states
};

// 0: not near.
double nearness(const Wanted& wanted, std::string_view name, std::string_view kind) {
  const double spelt = spelling(wanted.name, name);
  double words = by_words(wanted.words, words_of(name));
  if (!wanted.kind.empty() && !kind.empty() && kind != wanted.kind)
    words *= 0.6;   // not excluded: LogisticRegression is a classifier
  return std::max(spelt >= kLeastBySpelling ? spelt : 0, words >= kLeastByWords ? words : 0);
}

std::string about(const SklearnName& entry) {
  if (!entry.instead.empty()) return fmt::format("in Kedge it is {}", entry.instead);
  if (entry.nearest.empty()) return "scikit-learn has it, Kedge does not, and nothing here is like it";
  const std::string here = fmt::format("scikit-learn has it, Kedge does not; the nearest here is '{}'", entry.nearest);
  return entry.later.empty() ? here : fmt::format("{}. Left for later: {}", here, entry.later);
}

Wanted wanted_of(std::string_view name) {
  Wanted wanted{name, words_of(name), {}};
  for (const std::string& word : wanted.words)
    if (!kind_of(word).empty()) wanted.kind = kind_of(word);
  return wanted;
}

}  // namespace

std::string unknown_estimator(std::string_view name, std::span<const EstimatorName> here) {
  const std::span<const SklearnName> absent = sklearn_names();
  if (const auto known = std::ranges::find(absent, name, &SklearnName::name); known != absent.end()) return fmt::format("'{}': {}", name, about(*known));
  const std::span<const PeerName> peers = peer_names();
  if (const auto peer = std::ranges::find(peers, name, &PeerName::name); peer != peers.end())
    return fmt::format("'{}': {} has it; the same work is done here by '{}'", name, peer->library, peer->ours);
  if (name.size() > kLongestName) return fmt::format("'{}'", name);
  const Wanted wanted = wanted_of(name);
  std::vector<std::string_view> nearest;   // of ours, equally near
  double best = 0;
  for (const EstimatorName& entry : here) {
    const double near = nearness(wanted, entry.name, entry.kind);
    if (near > best) nearest.clear();
    if (near > 0 && near >= best) best = near, nearest.push_back(entry.name);
  }
  const SklearnName* nearer = nullptr;
  for (const SklearnName& entry : absent) {
    const double near = nearness(wanted, entry.name, {});
    if (near > best && !std::ranges::count(here, entry.name, &EstimatorName::name)) best = near, nearer = &entry;
  }
  if (nearer) return fmt::format("'{}'; did you mean '{}'? {}", name, nearer->name, about(*nearer));
  if (nearest.empty()) return fmt::format("'{}'", name);
  const std::string second = nearest.size() > 1 ? fmt::format(" or '{}'", nearest[1]) : "";
  return fmt::format("'{}'; did you mean '{}'{}?", name, nearest[0], second);
}

}  // namespace kedge::engine
