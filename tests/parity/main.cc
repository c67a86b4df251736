// The parity driver: every op x dtype x shape on every device that is here, against plain references in double.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/parity/devices.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

template <class T>
class ParityTest : public testing::Test {
 public:
  ParityTest(engine::Device& device, const Row<T>& row, Shape shape) : probe_(device, shape, row.tolerance), check_(row.check) {}
  void TestBody() override { check_(probe_); }

 private:
  Probe<T> probe_;
  void (*check_)(Probe<T>&);
};

class MissingDevice : public testing::Test {
 public:
  explicit MissingDevice(std::string why) : why_(std::move(why)) {}
  void TestBody() override { GTEST_SKIP() << why_; }

 private:
  std::string why_;
};

template <class T>
void register_rows(const FoundDevice& found, const char* dtype, const std::vector<Row<T>>& rows) {
  for (const Row<T>& row : rows) {
    for (const Shape& shape : row.shapes) {
      const std::string suite = fmt::format("{}_{}", found.name, dtype), name = fmt::format("{}/{}x{}x{}", row.op, shape.rows, shape.cols, shape.k);
      engine::Device& device = *found.device;
      testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&device, row, shape]() -> testing::Test* { return new ParityTest<T>(device, row, shape); });
    }
  }
}

template <class T>
void register_all(const FoundDevice& found, const char* dtype) {
  register_rows(found, dtype, table_rows<T>());
  register_rows(found, dtype, linear_rows<T>());
  register_rows(found, dtype, regression_rows<T>());
  register_rows(found, dtype, row_rows<T>());
  register_rows(found, dtype, neighbour_rows<T>());
  register_rows(found, dtype, cluster_rows<T>());
  register_rows(found, dtype, index_rows<T>());
  register_rows(found, dtype, category_rows<T>());
  register_rows(found, dtype, tree_rows<T>());
  register_rows(found, dtype, column_rows<T>());
  register_rows(found, dtype, sparse_rows<T>());
}

}  // namespace
}  // namespace kedge::parity

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto devices = kedge::parity::find_devices();
  for (const auto& found : devices) {
    if (found.device) {
      kedge::parity::register_all<float>(found, "float32");
      kedge::parity::register_all<double>(found, "float64");
    } else {
      testing::RegisterTest(found.name.c_str(), "is_missing", nullptr, nullptr, __FILE__, __LINE__,
                            [&found]() -> testing::Test* { return new kedge::parity::MissingDevice(found.missing); });
    }
  }
  return RUN_ALL_TESTS();
}
