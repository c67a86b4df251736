// Every check of the parity rows as one list: op, dtype and shape, and how to run it on a device. Two programs run it:
// the parity driver of the tests, and kedge-gpu-check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"

namespace kedge::parity {

// rows x cols of data; k classes, neighbours or columns of a second operand.
struct Shape {
  std::int64_t rows, cols;
  int k;
};

// The kernels that ran since it was made, where a device can tell.
class Launches {
 public:
  virtual ~Launches() = default;
  virtual bool has(std::string_view kernel) const = 0;   // whatever its template arguments
};
using LaunchWatch = std::function<std::unique_ptr<Launches>()>;

struct Case {
  std::string op, dtype;   // "float32" or "float64"
  Shape shape;
  // What disagreed, empty if nothing did. Errors: those of the op.
  std::function<std::vector<std::string>(engine::Device& device, const LaunchWatch& launches)> run;
  std::string name() const;   // "gemm/5x1x40"
};

// In the order of the rows; an op's cases follow one another.
std::vector<Case> all_cases();

}   // namespace kedge::parity
