// Which kernels an emulated GPU runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"

namespace kedge::test {

// Notes the launches on this runtime while it lives.
class LaunchLog {
 public:
  explicit LaunchLog(engine::CudaRuntime& runtime) : emulator_(*static_cast<engine::emulated::Emulator*>(runtime.stream())) {
    emulator_.before_launch = [this](const char* kernel) { kernels_.emplace_back(kernel); };
  }
  ~LaunchLog() { emulator_.before_launch = nullptr; }
  LaunchLog(const LaunchLog&) = delete;
  LaunchLog& operator=(const LaunchLog&) = delete;

  // Whether a kernel of this name ran, with any template arguments. Several of them put the name in parentheses.
  bool has(std::string_view name) const {
    for (const std::string& kernel : kernels_) {
      const std::size_t begin = kernel.starts_with('(') ? 1 : 0;
      if (kernel.substr(begin, kernel.find('<') - begin) == name) return true;
    }
    return false;
  }

 private:
  engine::emulated::Emulator& emulator_;
  std::vector<std::string> kernels_;
};

}  // namespace kedge::test
