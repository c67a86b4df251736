// The registry of models: versions, aliases, references, and what a restart finds.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/model_registry.h"
#include "server/store/registry_statements.h"
#include "server/store/write_and_wait.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;

class Registry : public testing::Test {
 protected:
  Registry() { open(); }
  void open() {
    registry_.reset();
    store_.reset();
    store_ = std::make_unique<Store>(dir_.path(), [](const std::string&) {});
    registry_ = make_model_registry(*store_);
  }
  void store(const std::string& model, const std::string& tenant = "alice") {
    write_and_wait(*store_, [&](StoreWriter& writer) { writer.insert_model({.info = {.id = model}}, tenant); });
  }
  std::int64_t add(const std::string& name, const std::string& model) {
    return registry_->add("alice", name, {.model = model}).version.version;
  }
  template <class Call>
  static schema::Error error_of(Call call) {
    try {
      call();
    } catch (const schema::Error& error) {
      return error;
    }
    return {ErrorCode::kInternal, "nothing was thrown"};
  }
  std::string resolve(const std::string& reference) { return registry_->resolve("alice", reference); }

  const tests::TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ModelRegistry> registry_;
};

TEST_F(Registry, NumbersVersionsFromOneAndGivesTheSameModelTheSameOne) {
  store("mdl_1"), store("mdl_2");
  EXPECT_EQ(add("iris", "mdl_1"), 1);
  EXPECT_EQ(add("iris", "mdl_2"), 2);
  const auto again = registry_->add("alice", "iris", {.model = "mdl_1", .description = "other"});
  EXPECT_EQ(again.version.version, 1);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.version.description, "");
  EXPECT_EQ(add("other", "mdl_1"), 1) << "a model may have several names";
  const schema::RegisteredModel iris = registry_->find("alice", "iris");
  EXPECT_EQ(iris.latestVersion, 2);
  EXPECT_EQ(iris.versions, 2);
}

TEST_F(Registry, NeverGivesANumberAgain) {
  store("mdl_1"), store("mdl_2"), store("mdl_3");
  add("iris", "mdl_1"), add("iris", "mdl_2");
  registry_->remove_version("alice", "iris", 2);
  open();
  EXPECT_EQ(add("iris", "mdl_3"), 3);
  EXPECT_EQ(registry_->find("alice", "iris").versions, 2);
}

TEST_F(Registry, ResolvesNamesAliasesAndNumbers) {
  store("mdl_1"), store("mdl_2");
  add("iris", "mdl_1"), add("iris", "mdl_2");
  EXPECT_EQ(resolve("iris"), "mdl_2") << "the highest";
  EXPECT_EQ(resolve("iris/1"), "mdl_1");
  registry_->set_alias("alice", "iris", "champion", 1);
  EXPECT_EQ(resolve("iris@champion"), "mdl_1");
  registry_->set_alias("alice", "iris", "champion", 2);
  EXPECT_EQ(resolve("iris@champion"), "mdl_2") << "what was looked up before is forgotten";
  registry_->set_alias("alice", "iris", "default", 1);
  EXPECT_EQ(resolve("iris"), "mdl_1");
  EXPECT_EQ(resolve("mdl_7"), "mdl_7") << "an id is not looked up";
}

TEST_F(Registry, SaysWhatAReferenceLacks) {
  store("mdl_1");
  add("iris", "mdl_1");
  for (const char* reference : {"wine", "", "iris/", "iris@", "iris/x", "iris/1/2", "a b", "../x", "iris/-1", "wine/1"})
    EXPECT_EQ(error_of([&] { resolve(reference); }).message, fmt::format("there is no model '{}'", reference));
  EXPECT_EQ(error_of([&] { resolve("iris/2"); }).message, "the registered model 'iris' has no version 2");
  EXPECT_EQ(error_of([&] { resolve("iris@best"); }).message, "the registered model 'iris' has no alias 'best'");
  registry_->remove_version("alice", "iris", 1);
  EXPECT_EQ(error_of([&] { resolve("iris"); }).message, "the registered model 'iris' has no version");
  EXPECT_EQ(error_of([&] { add("iris", "mdl_9"); }).message, "there is no model 'mdl_9'");
}

TEST_F(Registry, KeepsNamesOfTenantsApart) {
  store("mdl_1"), store("mdl_2", "bob");
  add("iris", "mdl_1");
  EXPECT_EQ(registry_->add("bob", "iris", {.model = "mdl_2"}).version.version, 1);
  EXPECT_EQ(registry_->resolve("bob", "iris"), "mdl_2");
  EXPECT_EQ(resolve("iris"), "mdl_1");
  registry_->remove("bob", "iris");
  EXPECT_EQ(resolve("iris"), "mdl_1");
}

TEST_F(Registry, RefusesToDeleteWhatIsNamed) {
  store("mdl_1");
  add("iris", "mdl_1");
  registry_->set_alias("alice", "iris", "champion", 1);
  const schema::Error version = error_of([&] { registry_->remove_version("alice", "iris", 1); });
  EXPECT_EQ(version.code, ErrorCode::kConflict);
  EXPECT_EQ(version.message, "version 1 of 'iris' has the alias 'champion'; move or delete the alias first");
  const auto require = [&] {
    write_and_wait(*store_, [](StoreWriter& writer) { writer.registry().require_unregistered("mdl_1"); });
  };
  EXPECT_EQ(error_of(require).message, "the model 'mdl_1' is registered as iris/1; delete that version first");
  registry_->remove_alias("alice", "iris", "champion");
  registry_->remove_version("alice", "iris", 1);
  EXPECT_NO_THROW(require());
}

TEST_F(Registry, EditsTagsOneByOne) {
  store("mdl_1");
  registry_->add("alice", "iris", {.model = "mdl_1", .description = "first", .tags = {{"a", "1"}, {"b", "2"}}});
  const auto version = registry_->edit_version("alice", "iris", 1, {.tags = {{"a", nullptr}, {"c", "3"}}});
  EXPECT_EQ(version.tags, (schema::ValueMap{{"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(version.description, "first");
  const auto model =
      registry_->edit("alice", "iris", {.description = schema::Value("which iris"), .tags = {{"x", "y"}}});
  EXPECT_EQ(model.description, "which iris");
  EXPECT_EQ(model.tags, (schema::ValueMap{{"x", "y"}}));
  EXPECT_EQ(error_of([&] { registry_->edit("alice", "iris", {.tags = {{"n", 1}}}); }).where, "tags.n");
  EXPECT_EQ(error_of([&] { registry_->edit("alice", "iris", {.description = schema::Value(1)}); }).where,
            "description");
}

TEST_F(Registry, RefusesNamesAndAliasesThatMeanSomethingElse) {
  store("mdl_1");
  for (const char* name : {"", "mdl_1", "a/b", "a@b", "a b", ".a", "é"})
    EXPECT_EQ(error_of([&] { add(name, "mdl_1"); }).where, "name") << name;
  EXPECT_EQ(error_of([&] { add(std::string(129, 'a'), "mdl_1"); }).where, "name");
  add("iris", "mdl_1");
  for (const char* alias : {"", "latest", "v3", "3", "a b", "a/b"})
    EXPECT_EQ(error_of([&] { registry_->set_alias("alice", "iris", alias, 1); }).where, "alias") << alias;
  EXPECT_NO_THROW(registry_->set_alias("alice", "iris", "v3a", 1));
}

TEST_F(Registry, ListsInPages) {
  for (int i = 1; i <= 5; ++i) store(fmt::format("mdl_{}", i)), add("iris", fmt::format("mdl_{}", i));
  for (const char* name : {"b", "a"}) add(name, "mdl_1");
  const auto first = registry_->list("alice", 2, "");
  ASSERT_EQ(first.models.size(), 2u);
  EXPECT_EQ(first.nextPageToken, "b");
  EXPECT_EQ(registry_->list("alice", 2, first.nextPageToken).models.at(0).name, "iris");
  const auto versions = registry_->versions("alice", "iris", 3, 0);
  EXPECT_EQ(versions.versions.front().version, 5);
  EXPECT_EQ(versions.nextPageToken, "3");
  EXPECT_EQ(registry_->versions("alice", "iris", 3, 3).versions.front().version, 2);
}

TEST_F(Registry, IsFoundAsItWasAfterARestart) {
  store("mdl_1"), store("mdl_2");
  add("iris", "mdl_1"), add("iris", "mdl_2");
  registry_->set_alias("alice", "iris", "champion", 1);
  const auto before = registry_->find("alice", "iris");
  open();
  EXPECT_EQ(registry_->find("alice", "iris"), before);
  EXPECT_EQ(before.aliases, (schema::ValueMap{{"champion", 1}}));
  EXPECT_THAT(registry_->version("alice", "iris", 1).aliases, ElementsAre("champion"));
  EXPECT_EQ(resolve("iris@champion"), "mdl_1");
}

// --- "register" of a job ---

constexpr int kMostNames = 10'000;

class RegisteringJob : public Registry {
 protected:
  // Ends a job that has left mdl_1, or no model.
  schema::Result end(bool has_model = true, std::int64_t held_lease = 0) {
    StateChange change{.job = "job_1",
                       .state = schema::JobState::kSucceeded,
                       .time = "t2",
                       .held_lease = held_lease,
                       .result = schema::Result{.model = "mdl_1"},
                       .register_as = "iris",
                       .tenant = "alice"};
    if (has_model) change.model = {.info = {.id = "mdl_1", .job = "job_1"}};
    write_and_wait(*store_, [&](StoreWriter& writer) {
      writer.insert({.job = {.id = "job_1", .created = "t1"}, .tenant = "alice"});
      took_place_ = writer.change(change);
    });
    return store_->find("job_1")->result.value_or(schema::Result());
  }
  bool took_place_ = false;
};

TEST_F(RegisteringJob, MakesItsModelAVersionInTheStepOfItsEnd) {
  store("mdl_0");
  add("iris", "mdl_0");
  EXPECT_EQ(resolve("iris"), "mdl_0");
  EXPECT_EQ(end().registered, "iris/2");
  EXPECT_EQ(resolve("iris"), "mdl_1") << "what was looked up before is forgotten";
  EXPECT_EQ(registry_->version("alice", "iris", 2).created, "t2");
  EXPECT_EQ(error_of([&] { registry_->find("bob", "iris"); }).code, ErrorCode::kNotFound);
}

TEST_F(RegisteringJob, RegistersNothingWithAStaleLeaseOrWithoutAModel) {
  end(true, 7);
  EXPECT_FALSE(took_place_);
  EXPECT_EQ(error_of([&] { registry_->find("alice", "iris"); }).code, ErrorCode::kNotFound);
  write_and_wait(*store_, [](StoreWriter& writer) {
    writer.change({.job = "job_1", .state = schema::JobState::kCancelled, .time = "t3"});
  });
  write_and_wait(*store_, [](StoreWriter& writer) { writer.remove("job_1"); });
  EXPECT_EQ(end(false).registered, "");
  EXPECT_TRUE(took_place_);
  EXPECT_EQ(error_of([&] { registry_->find("alice", "iris"); }).code, ErrorCode::kNotFound);
}

TEST_F(RegisteringJob, KeepsItsResultAndModelWhereTheTenantHasNoRoomForTheName) {
  store("mdl_0");
  write_and_wait(*store_, [](StoreWriter& writer) {
    for (int i = 0; i < kMostNames; ++i)
      writer.registry().add_version("alice", {.name = fmt::format("n{}", i), .model = "mdl_0", .created = "t0"});
  });
  EXPECT_EQ(error_of([&] { registry_->require_room("alice", "iris"); }).code, ErrorCode::kConflict);
  EXPECT_NO_THROW(registry_->require_room("alice", "n5"));
  EXPECT_NO_THROW(registry_->require_room("bob", "iris"));
  const schema::Result result = end();
  EXPECT_EQ(result.registered, "");
  EXPECT_EQ(result.model, "mdl_1");
  EXPECT_THAT(result.warnings,
              ElementsAre("the model was not registered as 'iris': 10000 names are registered, at most 10000 may be"));
  EXPECT_TRUE(store_->find_model("mdl_1"));
}

TEST(Registration, IsForJobsThatStoreAModel) {
  const auto error_of = [](schema::JobSpec spec) -> schema::Error {
    try {
      check_registration(spec);
    } catch (const schema::Error& error) {
      return error;
    }
    return {ErrorCode::kInternal, "nothing was thrown"};
  };
  EXPECT_EQ(error_of({.task = schema::CrossValidate{}}).code, ErrorCode::kInternal) << "no name is given";
  EXPECT_EQ(error_of({.task = schema::Fit{}, .registerAs = "iris"}).code, ErrorCode::kInternal);
  EXPECT_EQ(error_of({.task = schema::GridSearch{}, .registerAs = "iris"}).code, ErrorCode::kInternal);
  EXPECT_EQ(error_of({.task = schema::RandomizedSearch{.refit = "accuracy"}, .registerAs = "iris"}).code,
            ErrorCode::kInternal);
  EXPECT_EQ(error_of({.task = schema::PartialDependence{}, .registerAs = "iris"}).code, ErrorCode::kInternal);
  const std::pair<schema::Task, std::string> refused[] = {
      {schema::CrossValidate{}, "crossValidate"},
      {schema::FitScore{}, "fitScore"},
      {schema::PartialDependence{.fitScore = schema::FitScore{}}, "partialDependence"},
      {schema::Predict{}, "predict"},
      {schema::GridSearch{.refit = false}, "gridSearch"},
      {schema::HalvingGridSearch{.refit = false}, "halvingGridSearch"}};
  for (const auto& [task, name] : refused) {
    const schema::Error error = error_of({.task = task, .registerAs = "iris"});
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, "register");
    EXPECT_EQ(error.message, "register is 'iris', but this " + name +
                                 " stores no model: fit does, searches with refit, and inspections without fitScore");
  }
  for (const char* name : {"mdl_1", "iris/3", "iris@best", "a b", ".a"})
    EXPECT_EQ(error_of({.task = schema::Fit{}, .registerAs = name}).where, "register") << name;
}

}   // namespace
}   // namespace kedge::server
