// How often the emulated device starts a kernel. The count shows a needless pass over a table.
#pragma once

#include <string_view>

#include "engine/backend/emulated/launch_check.h"
#include "engine/backend/emulated/observer.h"

namespace kedge::engine::testing {

// Counts the launches of kernels with this in their names while it lives. One at a time.
class Launches final : public emulated::Observer {
 public:
  explicit Launches(std::string_view kernel) : kernel_(kernel) { emulated::observer = this; }
  ~Launches() override { emulated::observer = nullptr; }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  int count() const { return count_; }

  void launch_begins(const emulated::Launch& launch, const void*, const void*) override {
    count_ += std::string_view(launch.name).find(kernel_) != std::string_view::npos ? 1 : 0;
  }
  void block_begins() override {}
  void block_meets() override {}
  void launch_ends() override {}
  void atomic(const void*, std::size_t) override {}
  void library(const char*, std::size_t, double, double) override {}
  void copied(emulated::Copy, std::size_t) override {}
  void waited() override {}
  void allocated(std::size_t) override {}

 private:
  std::string_view kernel_;
  int count_ = 0;
};

}   // namespace kedge::engine::testing
