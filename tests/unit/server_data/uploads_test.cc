// Uploads without HTTP: shared content and its removal, the data of jobs, what counts for a tenant, and what a restart
// finds.
#include "server/data/uploads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "crypto/digest.h"
#include "engine/core/dataset_file.h"
#include "schemas/quota.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTable = "a,b\n1,2\n3,4\n";

class UploadsTest : public testing::Test {
 protected:
  Uploads::Content content(const std::string& tenant, const std::string& name, const std::string& text = kTable) {
    const auto upload = uploads_->begin(tenant, name, "csv");
    upload->write(text);
    return upload->finish({});
  }
  UploadInfo put(const std::string& tenant, const std::string& name, const std::string& text = kTable) {
    return uploads_->publish(content(tenant, name, text));
  }
  Uploads::Content job_content(const std::string& text = kTable) {
    const auto upload = uploads_->begin_for_job("alice", "csv");
    upload->write(text);
    return upload->finish({});
  }
  std::vector<std::filesystem::path> tables() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(datasets_))
      if (entry.path().extension() == ".kds") files.push_back(entry.path());
    return files;
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t sum = 0;
    for (const auto& file : tables()) sum += std::filesystem::file_size(file);
    return sum;
  }
  // As the next start does.
  void restart(bool by_tenant = false) {
    uploads_.reset();
    bytes_.emplace();
    uploads_.emplace(datasets_, *bytes_, by_tenant);
  }

  TemporaryDirectory directory_;
  const std::filesystem::path datasets_ = directory_.path() / "datasets";
  std::optional<TenantBytes> bytes_{std::in_place};
  std::optional<Uploads> uploads_{std::in_place, datasets_, *bytes_};
};

// The moment between the look at shared content and the entry that leads to it.
TEST_F(UploadsTest, KeepWhatAnotherTenantRemovesWhileTheyAreBeingPublished) {
  put("alice", "mine");
  Uploads::Content of_bob = content("bob", "his");
  ASSERT_TRUE(uploads_->remove("alice", "mine"));
  ASSERT_EQ(tables().size(), 1u) << "it is removed although an upload of the same content is under way";
  uploads_->publish(std::move(of_bob));
  EXPECT_EQ(engine::DatasetFile(tables().at(0)).meta().n_rows, 2);
  EXPECT_TRUE(uploads_->remove("bob", "his"));
  EXPECT_TRUE(tables().empty());
}

TEST_F(UploadsTest, AreThereWhenTheyWereAcknowledgedHoweverRemovalsComeInBetween) {
  std::atomic<int> missing = 0;
  {
    std::vector<std::jthread> tenants;
    for (int t = 0; t < 4; ++t)
      tenants.emplace_back([&, t] {
        const std::string tenant = fmt::format("tenant{}", t);
        for (int i = 0; i < 100; ++i) {
          const std::string digest = "sha256:" + put(tenant, "shared").digest;
          const CacheHold hold = uploads_->hold(tenant, digest);
          missing += !hold || tables().size() != 1;
          uploads_->remove(tenant, "shared");
        }
      });
  }
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(tables().empty()) << "the last one takes the content along";
}

TEST_F(UploadsTest, HaveContentThatStaysWhileAJobHoldsIt) {
  const std::string digest = "sha256:" + put("alice", "mine").digest;
  CacheHold hold = uploads_->hold("alice", digest);
  EXPECT_EQ(uploads_->hold("bob", digest), nullptr) << "it is not bob's";
  uploads_->remove("alice", "mine");
  EXPECT_EQ(tables().size(), 1u);
  hold.reset();
  EXPECT_TRUE(tables().empty());
}

TEST_F(UploadsTest, OfAJobHaveNoNameLastThroughARestartAndGoWithTheJob) {
  uploads_->give_to_job("job_1", job_content());
  EXPECT_TRUE(uploads_->list("alice").empty());
  EXPECT_THROW(uploads_->resolve("alice", "job_1"), schema::Error);
  restart();
  EXPECT_THAT(uploads_->jobs(), ElementsAre("job_1"));
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk());
  EXPECT_EQ(tables().size(), 1u);
  uploads_->drop_job("job_1");
  EXPECT_TRUE(tables().empty());
  EXPECT_EQ(bytes_->used("alice"), 0u);
  restart();
  EXPECT_TRUE(uploads_->jobs().empty());
}

TEST_F(UploadsTest, LeaveNothingWhenTheyAreNotTaken) {
  { const Uploads::Content unused = job_content(); }
  EXPECT_TRUE(tables().empty());
  EXPECT_EQ(bytes_->used("alice"), 0u);
}

TEST_F(UploadsTest, CountWhatIsOnTheDiskAlsoAfterARestart) {
  put("alice", "one");
  put("alice", "two", "a\n1.1\n2.2\n");
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk());
  const UploadInfo before = *uploads_->find("alice", "one");
  restart();
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk());
  EXPECT_EQ(uploads_->find("alice", "one"), before);
  put("alice", "one", "a\n5\n");
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk()) << "what was replaced counts no more";
}

TEST_F(UploadsTest, ReserveTheirBytesBeforeTheyCome) {
  bytes_->set_most(10'000);
  const auto first = uploads_->begin("alice", "one", "csv", 9'000);
  EXPECT_THROW(uploads_->begin("alice", "two", "csv", 2'000), schema::QuotaExceeded);
  const auto second = uploads_->begin("alice", "two", "csv");
  EXPECT_THROW(second->write(std::string(2'000, 'x')), schema::QuotaExceeded) << "and where nothing was announced, each piece";
  EXPECT_NO_THROW(uploads_->begin("bob", "one", "csv", 9'000));
}

TEST_F(UploadsTest, WithoutAnEntryAreRemovedAtTheStart) {
  put("alice", "one");
  std::filesystem::copy_file(tables().at(0), datasets_ / ("stored-" + std::string(64, 'a') + ".kds"));
  restart();
  EXPECT_EQ(tables().size(), 1u);
}

TEST_F(UploadsTest, DoNotShowTheNamesOfOtherTenants) {
  put("alice", "secret-merger");
  const std::string digest = "sha256:" + put("bob", "plain").digest;
  EXPECT_EQ(tables().size(), 1u);
  EXPECT_EQ(uploads_->name_of("alice", digest), "secret-merger");
  EXPECT_EQ(uploads_->name_of("bob", digest), "plain");
  EXPECT_THAT(engine::DatasetFile(tables().at(0)).meta().name, testing::Not(HasSubstr("secret")));
}

const std::string kDigest = crypto::hex_digest(crypto::DigestKind::kSha256, "csv\n" + kTable);

std::string name_of_content(const std::string& text) {
  return "sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, "csv\n" + text);
}

TEST_F(UploadsTest, AreNamedByTheirContentOrRefused) {
  const std::string name = name_of_content(kTable);
  EXPECT_EQ(put("alice", name).digest, kDigest);
  EXPECT_EQ(uploads_->resolve("alice", name), name);
  EXPECT_EQ(uploads_->name_of("alice", name), "") << "a digest is no name for messages";
  restart();
  EXPECT_TRUE(uploads_->find("alice", name));
  EXPECT_FALSE(uploads_->find("bob", name)) << "knowing the digest does not help";
  EXPECT_THROW(put("alice", name, "a,b\n5,6\n"), schema::Error);
  EXPECT_THROW(put("alice", "sha256:" + std::string(63, 'a')), schema::Error);
  EXPECT_TRUE(uploads_->remove("alice", name));
  EXPECT_TRUE(tables().empty());
}

TEST_F(UploadsTest, AreFoundByTheirContentUnderAnyName) {
  put("alice", "mine");
  const std::optional<UploadInfo> found = uploads_->find("alice", name_of_content(kTable));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "mine");
}

TEST_F(UploadsTest, GetANameForContentThatIsThere) {
  const std::string content = name_of_content(kTable);
  EXPECT_THROW(uploads_->give_name("alice", "mine", content), schema::Error) << "it is not there";
  put("alice", content);
  EXPECT_EQ(uploads_->give_name("alice", "mine", content).name, "mine");
  EXPECT_THROW(uploads_->give_name("alice", ".mine", content), schema::Error);
  EXPECT_THROW(uploads_->give_name("bob", "mine", content), schema::Error);
  uploads_->remove("alice", content);
  restart();
  EXPECT_TRUE(uploads_->find("alice", "mine"));
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk());
}

TEST_F(UploadsTest, WithoutANameMakeRoomForOthersTheOnesUsedLongestAgoFirst) {
  const std::string texts[] = {"a\n1\n", "a\n2\n", "a\n3\n"};
  put("alice", "named", "a\n4\n");
  put("alice", name_of_content(texts[0]), texts[0]);
  put("alice", name_of_content(texts[1]), texts[1]);
  EXPECT_TRUE(uploads_->find("alice", name_of_content(texts[0]))) << "a use";
  uploads_->set_most_content_bytes(2 * std::filesystem::file_size(tables().at(0)));
  put("alice", name_of_content(texts[2]), texts[2]);
  EXPECT_TRUE(uploads_->find("alice", "named"));
  EXPECT_TRUE(uploads_->find("alice", name_of_content(texts[0])));
  EXPECT_FALSE(uploads_->find("alice", name_of_content(texts[1])));
  EXPECT_EQ(tables().size(), 3u);
  uploads_->set_most_content_bytes(1);
  put("alice", name_of_content(texts[1]), texts[1]);
  EXPECT_TRUE(uploads_->find("alice", name_of_content(texts[1]))) << "the last one stays, of any size";
  EXPECT_EQ(tables().size(), 2u);
  EXPECT_EQ(bytes_->used("alice"), bytes_on_disk());
}

TEST_F(UploadsTest, AreKeptOnceForEachTenantWhereTheyMayNotShare) {
  restart(true);
  put("alice", "one"), put("bob", "one");
  EXPECT_EQ(tables().size(), 2u);
  for (const auto& file : tables())
    EXPECT_THAT(file.filename().string(), testing::Not(HasSubstr(uploads_->find("bob", "one")->digest)))
        << "a name that shows the content";
  uploads_->remove("alice", "one");
  EXPECT_EQ(tables().size(), 1u);
}

TEST_F(UploadsTest, FromBeforeTheyMayNotShareStayWhereTheyAre) {
  put("alice", "one");
  restart(true);
  EXPECT_NE(uploads_->hold("alice", uploads_->resolve("alice", "one")), nullptr);
  EXPECT_EQ(tables().size(), 1u);
}

}  // namespace
}  // namespace kedge::server
