// Which media type a client gets.
#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <vector>

#include "server/http/accept.h"

namespace kedge::server::http {
namespace {

std::string_view choose(std::string_view accept) {
  return choose_media_type(accept, {"application/json", "text/event-stream"});
}

TEST(Negotiation, TakesTheFirstOfferWhenAnythingGoes) {
  EXPECT_EQ(choose(""), "application/json");
  EXPECT_EQ(choose("*/*"), "application/json");
}

TEST(Negotiation, FollowsTheClientsWish) {
  EXPECT_EQ(choose("Text/Event-Stream"), "text/event-stream");
  EXPECT_EQ(choose("text/*, application/json;q=0.5"), "text/event-stream");
  EXPECT_EQ(choose("*/*;q=0.1, text/event-stream;charset=utf-8"), "text/event-stream");
}

TEST(Negotiation, LetsTheMostSpecificRangeDecide) {
  EXPECT_EQ(choose("application/*;q=0.9, application/json;q=0, text/event-stream;q=0.2"),
            "text/event-stream");
}

TEST(Negotiation, FindsNothingForOtherTypes) {
  EXPECT_EQ(choose("text/html"), "");
  EXPECT_EQ(choose("application/json;q=0"), "");
}

TEST(Negotiation, TakesAListThatIsKnownAtRunTimeAlone) {
  const std::vector<std::string_view> offers{"text/csv", "application/x-npy"};
  EXPECT_EQ(choose_media_type("application/*", std::span(offers)), "application/x-npy");
  EXPECT_EQ(choose_media_type("", std::span(offers).subspan(1)), "application/x-npy");
}

TEST(Negotiation, ComparesMediaTypesWithoutParameters) {
  EXPECT_TRUE(is_media_type("Application/JSON; charset=utf-8", "application/json"));
  EXPECT_FALSE(is_media_type("application/jsonx", "application/json"));
}

}  // namespace
}  // namespace kedge::server::http
