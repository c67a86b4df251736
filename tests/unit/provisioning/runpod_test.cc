// What RunPod is asked for: machines whose driver is new enough, whatever versions it knows.
#include "provisioning/providers.h"

#include <gmock/gmock.h>

#include "provisioning/json.h"
#include "tests/unit/provisioning/virtual_clock.h"

namespace kedge::provisioning {

ProviderFactory make_runpod;

namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Takes versions up to `newest`, and keeps what it was asked for.
class Pods final : public http::Client {
 public:
  explicit Pods(std::string newest) : newest_(std::move(newest)) {}
  http::Response send(const http::Request& request) override {
    const json::Value body = json::parse(request.body);
    asked.emplace_back();
    for (const json::Value& version : json::list(body, "allowedCudaVersions"))
      asked.back().push_back(std::get<std::string>(version.data));
    for (const std::string& version : asked.back())
      if (version > newest_)
        return {.status = 400, .body = R"({"error":"allowedCudaVersions: ")" + version + R"( is not allowed"})"};
    return {.status = 201, .body = R"({"id":"pod1"})"};
  }
  std::vector<std::vector<std::string>> asked;

 private:
  std::string newest_;
};

Machine launched_on(Pods& pods) {
  VirtualClock clock;
  const auto provider =
      make_runpod({.variable =
                       [](const std::string& name) {
                         return name == "RUNPOD_API_KEY" ? std::optional<std::string>("key") : std::nullopt;
                       },
                   .http = pods,
                   .clock = clock,
                   .state_directory = {},
                   .programs = {}});
  return provider->launch({.id = "kedge-me-1",
                           .offer = {.provider = "runpod", .id = "NVIDIA L4", .gpus = 1, .region = "secure"},
                           .image = "kedge"});
}

TEST(RunPod, IsAskedForEveryDriverThatIsNewEnough) {
  Pods pods("13.9");
  EXPECT_EQ(launched_on(pods).id, "pod1");
  ASSERT_THAT(pods.asked, SizeIs(1));
  EXPECT_THAT(pods.asked[0], ElementsAre("13.0", "13.1", "13.2", "13.3"));
}

TEST(RunPod, IsAskedForTheOldestOfThemWhereItDoesNotKnowTheOthers) {
  Pods pods("13.0");
  EXPECT_EQ(launched_on(pods).id, "pod1");
  ASSERT_THAT(pods.asked, SizeIs(2));
  EXPECT_THAT(pods.asked[1], ElementsAre("13.0"));
}

TEST(RunPod, IsNotAskedAgainWhenItRefusesForAnotherReason) {
  class Refusing final : public http::Client {
   public:
    http::Response send(const http::Request&) override {
      return ++calls, http::Response{.status = 400, .body = R"({"error":"no such image"})"};
    }
    int calls = 0;
  } refusing;
  VirtualClock clock;
  const auto provider = make_runpod({.variable = [](const std::string&) { return std::optional<std::string>("key"); },
                                     .http = refusing,
                                     .clock = clock,
                                     .state_directory = {},
                                     .programs = {}});
  EXPECT_THROW(provider->launch({.id = "kedge-me-1"}), ProviderError);
  EXPECT_EQ(refusing.calls, 1);
}

}   // namespace
}   // namespace kedge::provisioning
