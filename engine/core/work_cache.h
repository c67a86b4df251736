// Work that the candidates of a search share: announced, then made once and found again by a key that says what went into it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace kedge::engine {

// The plan of a search on one fold, and its results. Contents (Samples::content) are the nodes of a graph, named after
// what they were computed from; equal work on equal contents has the same key. A key names all that the value depends
// on (contents, estimator, parameters) except the rows' targets and weights, which are the fold's. Not thread safe.
class WorkCache {
 public:
  // A short name for a content that a text describes: equal texts, equal names.
  std::string name(const std::string& text) {
    return "#" + std::to_string(names_.try_emplace(text, names_.size()).first->second);
  }

  // Before the first candidate runs, each says what it will need of some work: a number of neighbours, a penalty.
  void want(const std::string& key, double what) { wanted_[key].insert(what); }
  // All that was wanted under `key`, ascending.
  const std::set<double>& wanted(const std::string& key) { return wanted_[key]; }

  // The V made under `kind` and `key`, or a new one from make(). V must be the same type for the same kind.
  template <class V, class Make>
  std::shared_ptr<V> get(const std::string& kind, const std::string& key, Make&& make) {
    std::shared_ptr<void>& entry = entries_[kind + " " + key];
    if (!entry) entry = std::make_shared<V>(make()), ++made_[kind];
    return std::static_pointer_cast<V>(entry);
  }

  // How many values of each kind were made.
  const std::map<std::string, std::int64_t>& made() const { return made_; }

 private:
  std::map<std::string, std::size_t> names_;
  std::map<std::string, std::set<double>> wanted_;
  std::map<std::string, std::shared_ptr<void>> entries_;
  std::map<std::string, std::int64_t> made_;
};

}  // namespace kedge::engine
