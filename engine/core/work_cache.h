// Work that the candidates of a search share: made once, found again by a key that says what went into it.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace kedge::engine {

// A key must name everything that the value depends on: the rows (Samples::content), the estimator, its parameters. Not thread safe.
class WorkCache {
 public:
  // The V made under `key`, or a new one from make(). V must be the same type for the same key.
  template <class V, class Make>
  std::shared_ptr<V> get(const std::string& key, Make&& make) {
    std::shared_ptr<void>& entry = entries_[key];
    if (!entry) entry = std::make_shared<V>(make());
    return std::static_pointer_cast<V>(entry);
  }

 private:
  std::map<std::string, std::shared_ptr<void>, std::less<>> entries_;
};

}  // namespace kedge::engine
