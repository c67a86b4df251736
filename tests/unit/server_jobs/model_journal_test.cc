// How new models come to the disk, and what a power cut leaves of them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <iterator>
#include <optional>

#include "crypto/digest.h"
#include "server/jobs/job_service.h"
#include "server/jobs/model_journal.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

class Journal : public testing::Test {
 protected:
  Journal() { start(); }
  void start() {
    journal_.reset(), store_.reset();
    store_.emplace(dir_.path(), [](const std::string&) {});
    journal_.emplace(*store_, files_);
  }
  void commit(std::function<void(StoreWriter&)> apply) {
    std::promise<void> done;
    store_->enqueue({.apply = std::move(apply), .committed = [&] { done.set_value(); }});
    done.get_future().get();
  }
  // As a job's end does it.
  NewModel keep(const std::string& id, const std::string& bytes) {
    NewModel model = journal_->adopt_bytes(bytes, {.id = id});
    commit([&](StoreWriter& writer) { writer.insert_model(model); });
    journal_->stored(model);
    return model;
  }
  bool all_settle() {
    return tests::Waiter().until([&] { return store_->unsettled_models().empty(); });
  }

  const tests::TempDir dir_;
  const JobFiles files_{dir_.path()};
  std::optional<Store> store_;
  std::optional<ModelJournal> journal_;
};

TEST_F(Journal, KeepsASmallModelInTheStoreUntilItsFileIsOnDisk) {
  const NewModel model = keep("mdl_1", "bytes");
  EXPECT_EQ(model.info.bytes, 5);
  const schema::ModelInfo listed = store_->find_model("mdl_1").value();
  EXPECT_EQ(listed.sha256, crypto::sha256_hex("bytes"));
  EXPECT_EQ(store_->list_models(1, {}).models.front(), listed);
  EXPECT_EQ(store_->model_bytes("mdl_1"), "bytes");
  EXPECT_EQ(read(journal_->file_of("mdl_1")), "bytes") << "the first call that needs the file makes it";
  ASSERT_TRUE(all_settle());
  EXPECT_EQ(read(journal_->file_of("mdl_1")), "bytes");
  EXPECT_EQ(store_->find_model("mdl_1").value(), listed) << "the digest is kept";
}

TEST_F(Journal, MakesTheFileThoughNoCallNeedsIt) {
  keep("mdl_1", "bytes");
  ASSERT_TRUE(all_settle());
  EXPECT_EQ(read(files_.model_path("mdl_1")), "bytes");
  EXPECT_EQ(fs::status(files_.model_path("mdl_1")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Journal, MakesAFileAnewThatAPowerCutTore) {
  for (const std::string_view torn : {"", "by", "other bytes"}) {
    keep("mdl_1", "bytes");
    write(journal_->file_of("mdl_1"), torn);
    start();
    EXPECT_EQ(read(journal_->file_of("mdl_1")), "bytes") << torn;
    commit([&](StoreWriter& writer) { writer.delete_model("mdl_1"); });
    journal_->remove("mdl_1");
  }
}

TEST_F(Journal, ForgetsAModelThatIsDeletedBeforeItHasAFile) {
  keep("mdl_1", "bytes");
  commit([&](StoreWriter& writer) { EXPECT_TRUE(writer.delete_model("mdl_1")); });
  journal_->remove("mdl_1");
  EXPECT_EQ(store_->model_bytes("mdl_1"), std::nullopt);
  EXPECT_FALSE(fs::exists(journal_->file_of("mdl_1")));
  keep("mdl_2", "more");
  ASSERT_TRUE(all_settle());
  EXPECT_FALSE(fs::exists(files_.model_path("mdl_1")));
}

TEST_F(Journal, TriesAgainWhenTheDiskTakesNothing) {
  fs::create_directory(dir_ / "models" / "mdl_1.part");   // nothing can be written there
  keep("mdl_1", "bytes");
  keep("mdl_2", "more");
  EXPECT_THROW(journal_->file_of("mdl_1"), schema::Error);
  EXPECT_FALSE(tests::Waiter().until([&] { return store_->unsettled_models().empty(); }, std::chrono::milliseconds(1500)));
  fs::remove(dir_ / "models" / "mdl_1.part");
  ASSERT_TRUE(all_settle());
  EXPECT_EQ(read(journal_->file_of("mdl_1")), "bytes");
  EXPECT_EQ(read(journal_->file_of("mdl_2")), "more");
}

TEST_F(Journal, WritesAtOnceWhileTheDiskIsBehind) {
  ASSERT_EQ(::mkfifo(files_.model_path("mdl_slow").c_str(), 0600), 0);   // to open it takes until there is a writer
  journal_->stored({.info = {.id = "mdl_slow"}, .bytes = "x"});
  for (int i = 0; i < 400; ++i) journal_->stored({.info = {.id = "mdl_none"}, .bytes = "x"});
  const NewModel late = journal_->adopt_bytes("late", {.id = "mdl_late"});
  EXPECT_EQ(late.bytes, "") << "its row needs none";
  EXPECT_EQ(late.info.bytes, 4);
  EXPECT_EQ(read(files_.model_path("mdl_late")), "late");
  write(files_.model_path("mdl_slow"), "");   // and to sync it fails: it is tried again, anew, and has no bytes
  ASSERT_TRUE(tests::Waiter().until([&] { return !journal_->adopt_bytes("x", {.id = "mdl_x"}).bytes.empty(); })) << "there is room again";
}

TEST_F(Journal, AdoptsALargeModelsFile) {
  write(dir_ / "models" / "job_1.7.part", "large");
  const NewModel model = journal_->adopt_file(dir_ / "models" / "job_1.7.part", {.id = "mdl_1"});
  EXPECT_EQ(model.bytes, "");
  EXPECT_EQ(model.info.bytes, 5);
  EXPECT_EQ(model.info.sha256, crypto::sha256_hex("large"));
  EXPECT_EQ(read(journal_->file_of("mdl_1")), "large");
}

TEST(SmallModel, OfAJobIsThereAfterARestartWithOrWithoutItsFile) {
  const tests::TempDir dir;
  auto service = std::make_unique<JobService>(tests::service_options(dir.path(), KEDGE_FAKE_WORKER));
  schema::JobSpec spec = tests::job_spec("Succeed");
  spec.task = schema::Fit{};
  const schema::Job job = tests::wait_for_end(*service, tests::submit(*service, spec).id);
  const std::string id = job.result.value().model, bytes = "the model of " + job.id;
  EXPECT_EQ(read(service->check_model(id)), bytes);
  service.reset();
  write(dir.path() / "models" / (id + ".kedge"), "torn");
  write(dir.path() / "models" / "mdl_orphan.kedge", "of no row");
  service = std::make_unique<JobService>(tests::service_options(dir.path(), KEDGE_FAKE_WORKER));
  EXPECT_EQ(read(service->model_file(id)), bytes);
  EXPECT_EQ(service->check_model(id), service->model_file(id));
  EXPECT_FALSE(fs::exists(dir.path() / "models" / "mdl_orphan.kedge"));
  service->delete_model(id);
  EXPECT_THROW(service->model_file(id), schema::Error);
  EXPECT_THROW(service->check_model(id), schema::Error);
  EXPECT_FALSE(fs::exists(dir.path() / "models" / (id + ".kedge")));
}

}  // namespace
}  // namespace kedge::server
