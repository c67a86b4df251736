// Memory of texts that are done with, for the next ones: freed and taken again it would be fresh pages each time.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kedge::server {

// Any thread may call. Holds as many texts as were ever in use at once.
class SpareTexts {
 public:
  std::string take() {   // empty, with room where there is some
    const std::lock_guard lock(mutex_);
    if (texts_.empty()) return {};
    std::string text = std::move(texts_.back());
    texts_.pop_back();
    return text;
  }
  void give(std::string text) {
    text.clear();
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace kedge::server
