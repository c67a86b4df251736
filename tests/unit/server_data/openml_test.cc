// Reading OpenML's JSON: numbers as strings, lists of one as strings, absent keys.
#include "server/data/openml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OpenmlDescription, TakesNumbersAsStrings) {
  const OpenmlDataset d = read_description(
      R"({"data_set_description":{"id":"61","name":"iris","version":"1","file_id":"62","md5_checksum":"ab","status":"active","default_target_attribute":"class","tag":"x"}})");
  EXPECT_EQ(d.id, 61);
  EXPECT_EQ(d.version, 1);
  EXPECT_EQ(d.file_id, 62);
  EXPECT_EQ(d.title(), "openml iris version 1");
  EXPECT_THAT(d.targets, ElementsAre("class"));
  EXPECT_THAT(d.ignored, IsEmpty());
}

TEST(OpenmlDescription, TakesSeveralTargetsAndIgnoredColumnsInEveryForm) {
  const OpenmlDataset d = read_description(
      R"({"data_set_description":{"id":1,"name":"x","version":2,"file_id":3,"default_target_attribute":"a,b","row_id_attribute":"ID","ignore_attribute":["p, q","r","ID"]}})");
  EXPECT_THAT(d.targets, ElementsAre("a", "b"));
  EXPECT_THAT(d.ignored, ElementsAre("ID", "p, q", "r"));
  EXPECT_EQ(d.md5, "");
}

TEST(OpenmlFeatures, AddTargetsAndIgnoredColumns) {
  OpenmlDataset d{.id = 1, .targets = {"one", "two"}};
  add_features(R"({"data_features":{"feature":[{"index":"0","name":"one,two","is_target":"true"},{"name":"n","is_ignore":"true"},
                   {"name":"id","is_row_identifier":"true"},{"name":"x","is_target":"false"}]}})", d);
  EXPECT_THAT(d.targets, ElementsAre("one,two"));
  EXPECT_THAT(d.ignored, ElementsAre("n", "id"));
}

constexpr const char* kList =
    R"({"data":{"dataset":[{"did":1,"name":"anneal","version":2,"status":"deactivated"},{"did":2,"name":"anneal","version":1,"status":"active"},
        {"did":5,"name":"anneal","version":4,"status":"active"},{"did":6,"name":"ANNEAL","version":9,"status":"active"}]}})";

TEST(OpenmlList, GivesTheNewestActiveVersion) { EXPECT_EQ(pick_dataset(kList, "anneal", 0), 5); }
TEST(OpenmlList, GivesTheRequestedVersion) {
  EXPECT_EQ(pick_dataset(kList, "anneal", 1), 2);
}
TEST(OpenmlList, LeavesDeactivatedOnesOut) { EXPECT_EQ(pick_dataset(kList, "anneal", 2), 0); }
TEST(OpenmlList, TakesAnotherCaseWhereNoExactNameMatches) { EXPECT_EQ(pick_dataset(kList, "Anneal", 9), 6); }

TEST(OpenmlAnswers, ThatMakeNoSenseAreUnavailable) {
  for (const char* json : {"", "<html>", "[]", "{}", R"({"data_set_description":{}})", R"({"data_set_description":{"id":"x","file_id":"3"}})"}) {
    try {
      read_description(json);
      ADD_FAILURE() << "accepted: " << json;
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kDatasetUnavailable) << json;
    }
  }
}

}  // namespace
}  // namespace kedge::server
