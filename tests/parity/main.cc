// The parity driver: every op x dtype x shape on every device that is here, against plain references in double.
#include <gtest/gtest.h>

#include "tests/parity/cases.h"
#include "tests/parity/devices.h"

namespace kedge::parity {
namespace {

class ParityTest : public testing::Test {
 public:
  ParityTest(const FoundDevice& found, const Case& checked) : found_(found), case_(checked) {}
  void TestBody() override {
    for (const std::string& failure : case_.run(*found_.device, found_.launches)) ADD_FAILURE() << failure;
  }

 private:
  const FoundDevice& found_;
  const Case& case_;
};

class MissingDevice : public testing::Test {
 public:
  explicit MissingDevice(std::string why) : why_(std::move(why)) {}
  void TestBody() override { GTEST_SKIP() << why_; }

 private:
  std::string why_;
};

void register_cases(const FoundDevice& found, const std::vector<Case>& cases) {
  for (const Case& one : cases)
    testing::RegisterTest((found.name + "_" + one.dtype).c_str(), one.name().c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [&found, &one]() -> testing::Test* { return new ParityTest(found, one); });
}

}  // namespace
}  // namespace kedge::parity

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto devices = kedge::parity::find_devices();
  const auto cases = kedge::parity::all_cases();
  for (const auto& found : devices) {
    if (found.device) {
      kedge::parity::register_cases(found, cases);
    } else {
      testing::RegisterTest(found.name.c_str(), "is_missing", nullptr, nullptr, __FILE__, __LINE__,
                            [&found]() -> testing::Test* { return new kedge::parity::MissingDevice(found.missing); });
    }
  }
  return RUN_ALL_TESTS();
}
