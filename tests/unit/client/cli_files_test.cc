// What kedge keeps and fetches: files that are whole or absent, servers by name, and lists that fit the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "client/cli/job_table.h"
#include "client/cli/server_list.h"
#include "client/cli/units.h"
#include "client/cli/whole_file.h"
#include "schemas/error.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::cli {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using testing::HasSubstr;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}
mode_t mode_of(const fs::path& file) {
  struct stat status{};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return status.st_mode & 0777;
}
std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(WholeFile, IsThereWhenItIsFinishedAndNotBefore) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "a";
  WholeFile out(file);
  out.write("all of it");
  EXPECT_FALSE(fs::exists(file));
  out.finish();
  EXPECT_EQ(text_of(file), "all of it");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(WholeFile, LeavesWhatWasThereWhenItsWriterFails) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "a") << "before";
  try {
    WholeFile out(folder.path() / "a");
    out.write("half of");
    throw Error(schema::ErrorCode::kConnection, "it broke off");
  } catch (const Error&) {
  }
  EXPECT_EQ(text_of(folder.path() / "a"), "before");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(WholeFile, SaysWhichFileCannotBeWritten) {
  try {
    WholeFile("/nonexistent/a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message, HasSubstr("cannot write /nonexistent/a: No such file"));
  }
}

struct Servers : testing::Test {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "kedge" / "servers.json";
};

TEST_F(Servers, AreKeptByNameForTheirOwnerAlone) {
  const mode_t before = ::umask(0);
  {
    ServerList list(file);
    list.put({.name = "lab", .url = "https://lab:5334", .token = "kdg_secret", .pin = std::string(64, 'a')});
    list.put({.name = "here", .url = "http://127.0.0.1:5334"});
    list.put({.name = "lab", .url = "https://lab:5335", .token = "kdg_other"});
  }
  ::umask(before);
  EXPECT_EQ(mode_of(file), 0600u);
  EXPECT_EQ(mode_of(file.parent_path()), 0700u);
  const ServerList again(file);
  ASSERT_EQ(again.servers().size(), 2u);
  EXPECT_EQ(again.servers()[0].name, "here");
  EXPECT_EQ(again.find("lab").url, "https://lab:5335");
  EXPECT_EQ(again.find("lab").token, "kdg_other");
  EXPECT_EQ(again.find("lab").pin, "");
}

TEST_F(Servers, InAFileThatOthersCanReadAreClosedToThem) {
  ServerList(file).put({.name = "lab", .url = "https://lab:5334", .token = "kdg_secret"});
  fs::permissions(file, fs::perms(0644));
  EXPECT_EQ(ServerList(file).servers().size(), 1u);
  EXPECT_EQ(mode_of(file), 0600u);
}

TEST_F(Servers, ThatAreNotThereHaveANearestName) {
  ServerList list(file);
  list.put({.name = "lab", .url = "https://lab:5334"});
  try {
    list.find("labb");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message, HasSubstr("did you mean 'lab'?"));
  }
  list.remove("lab");
  EXPECT_THROW(list.remove("lab"), Error);
  EXPECT_TRUE(ServerList(file).servers().empty());
}

TEST_F(Servers, InADamagedFileAreNotGuessed) {
  fs::create_directories(file.parent_path());
  for (const char* damaged : {"{\"servers\": [", "[]", "{\"servers\": 3}", "{\"servers\": [3]}"}) {
    std::ofstream(file) << damaged;
    try {
      ServerList{file};
      FAIL() << damaged;
    } catch (const Error& error) {
      EXPECT_THAT(error.message, HasSubstr(file.string())) << damaged;
    }
  }
}

TEST(ServerName, HasPlainCharacters) {
  for (const char* good : {"lab", "gpu.example", "a-b_c.9"}) EXPECT_NO_THROW(check_server_name(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("-x"), std::string("a/b"), std::string(65, 'a')})
    EXPECT_THROW(check_server_name(bad), Error) << bad;
}

TEST(Units, AreThoseThatPeopleRead) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(999), "999 B");
  EXPECT_EQ(size_text(12'345), "12.3 kB");
  EXPECT_EQ(size_text(669'000'000), "669.0 MB");
  EXPECT_EQ(seconds_text(0.4181), "0.42 s");
  EXPECT_EQ(seconds_text(12.34), "12.3 s");
  EXPECT_EQ(seconds_text(200), "3m20s");
  EXPECT_EQ(seconds_text(7500), "2h05m");
}

schema::Job searched_job() {
  schema::Job job{.id = "job_01K2ZT8S9W3V4X5Y6Z7A8B9C0D", .state = schema::JobState::kSucceeded};
  job.spec.dataset.source = schema::UrlRef{.url = "https://data.example/tables/churn-2027.csv?version=3"};
  job.spec.pipeline = {{"StandardScaler", {}}, {"QuantileTransformer", {}}, {"HistGradientBoostingClassifier", {}}};
  job.created = job.started = "2026-11-25T05:00:01.500Z", job.ended = "2026-11-25T05:03:21.900Z";
  job.result.emplace();
  job.result->search.emplace().bestScore = 0.91234;
  return job;
}

TEST(JobsTable, ShowsDataPipelineScoreAndTime) {
  const std::string table = jobs_table({searched_job()}, {}, 0);
  for (const char* part : {"succeeded", "churn-2027.csv: StandardScaler | QuantileTransformer", "best 0.9123", "3m20s",
                           "2026-11-25T05:00:01.500Z"})
    EXPECT_THAT(table, HasSubstr(part));
}

TEST(JobsTable, FitsTheTerminal) {
  for (const int columns : {80, 100, 120, 200}) {
    std::istringstream lines(jobs_table({searched_job(), searched_job()}, {.columns = columns}, 0));
    int n_lines = 0;
    for (std::string line; std::getline(lines, line); ++n_lines) EXPECT_LE(display_width(line), columns) << line;
    EXPECT_EQ(n_lines, 3) << columns << " columns: one line for each job";
  }
}

TEST(JobsTable, CountsTheTimeOfAJobThatRunsUntilNow) {
  schema::Job job = searched_job();
  job.state = schema::JobState::kRunning, job.ended.clear(), job.result.reset();
  job.started = "1970-01-01T00:01:00Z";
  EXPECT_THAT(jobs_table({job}, {}, 75), HasSubstr("15.0 s"));
  job.started.clear();
  EXPECT_EQ(run_time_text(job, 75), "");
}

TEST(JobText, NamesTheModelOfAPrediction) {
  schema::JobSpec spec;
  spec.dataset.source = schema::BuiltinRef{"iris"};
  spec.task = schema::Predict{.model = "mdl_1"};
  EXPECT_EQ(job_text(spec), "iris: predict by mdl_1");
}

}   // namespace
}   // namespace kedge::cli
