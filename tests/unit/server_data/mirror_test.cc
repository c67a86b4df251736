// Fetching from the OpenML mirror: every data set, every fault.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "crypto/digest.h"
#include "engine/core/dataset_file.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/mirror.h"
#include "tests/unit/server_data/parsing.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using schema::ErrorCode;
using schema::UrlRef;
using testing::HasSubstr;

constexpr double kSumTolerance = 1e-9;   // of sums of up to 300,000 numbers, added in another order
constexpr auto kCancelDeadline = std::chrono::seconds(10);   // the whole download would take 35 s

using MirrorTest = CacheTest;

struct Reference {
  int id;
  std::int64_t rows, numeric, nominal, missing;
  double sum, letters;
};
constexpr Reference kReferences[] = {
#include "tests/unit/server_data/openml_reference.inc"
};

double letters(const std::string& text) {
  return std::accumulate(text.begin(), text.end(), 0.0, [](double sum, char c) { return sum + static_cast<unsigned char>(c); });
}

// Sums over the columns that the source does not tell to ignore, as fetch_openml gives them.
Reference summary(int id, const Parsed& p) {
  Reference r{id, p.meta.n_rows, 0, 0, 0, 0, 0};
  for (const ColumnInfo& column : p.meta.columns) {
    const bool ignored = std::ranges::find(p.meta.ignored, column.name) != p.meta.ignored.end();
    if (ignored || column.type == ColumnInfo::Type::kString) continue;
    const bool nominal = column.type == ColumnInfo::Type::kNominal;
    ++(nominal ? r.nominal : r.numeric);
    r.missing += column.missing;
    for (std::int64_t i = 0; i < r.rows; ++i)
      if (const double v = p.at(i, column.values_column); !std::isnan(v))
        (nominal ? r.letters : r.sum) += nominal ? letters(column.categories.at(static_cast<std::size_t>(v))) : v;
  }
  return r;
}

TEST_F(MirrorTest, ReadsEveryDataSetAsScikitLearnDoes) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  DatasetCache cache(options(mirror.url()));
  for (const Reference& expected : kReferences) {
    const Reference r = summary(expected.id, read_file(acquire(cache, openml(expected.id)).path));
    EXPECT_EQ(r.rows, expected.rows) << expected.id;
    EXPECT_EQ(r.numeric, expected.numeric) << expected.id;
    EXPECT_EQ(r.nominal, expected.nominal) << expected.id;
    EXPECT_EQ(r.missing, expected.missing) << expected.id;
    EXPECT_NEAR(r.sum, expected.sum, kSumTolerance * std::abs(expected.sum)) << expected.id;
    EXPECT_EQ(r.letters, expected.letters) << expected.id;
  }
}

TEST_F(MirrorTest, NeedsNoRequestForAnExactReferenceThatIsThere) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  const std::string by_id = acquire(*std::make_unique<DatasetCache>(options(mirror.url())), openml(61)).path;
  const int requests = mirror.count_requests("");
  DatasetCache cache(options(mirror.url()));
  EXPECT_EQ(acquire(cache, openml(61)).path, by_id);
  EXPECT_EQ(acquire(cache, openml("iris", 1)).path, by_id);
  EXPECT_EQ(mirror.count_requests(""), requests);
}

TEST_F(MirrorTest, LooksForTheNewestVersionAgainAndUsesTheOldAnswerWhenOpenmlIsDown) {
  KEDGE_NEEDS_MIRROR();
  auto mirror = std::make_unique<Mirror>();
  DatasetCache cache(options(mirror->url()));
  const auto first = acquire(cache, openml("iris"));
  EXPECT_TRUE(first.cold);
  acquire(cache, openml("iris"));
  EXPECT_EQ(mirror->count_requests("/data/list/"), 2);
  EXPECT_EQ(mirror->count_requests("/download/"), 1);
  mirror.reset();
  EXPECT_EQ(acquire(cache, openml("iris")).path, first.path);
  EXPECT_THAT(log(), HasSubstr("the file that was fetched earlier is used"));
}

TEST_F(MirrorTest, SaysWhatItKnowsOfTargetsAndStatus) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  DatasetCache cache(options(mirror.url()));
  EXPECT_EQ(engine::DatasetFile(acquire(cache, openml(40589)).path).meta().target, "");
  EXPECT_THAT(log(), HasSubstr("'amazed.suprised', 'happy.pleased'"));
  EXPECT_THAT(log(), HasSubstr("select.target"));
  EXPECT_THAT(engine::DatasetFile(acquire(cache, openml(40966)).path).meta().ignored,
              testing::UnorderedElementsAre("MouseID", "Genotype", "Treatment", "Behavior"));
  acquire(cache, openml(1));
  EXPECT_THAT(log(), HasSubstr("openml anneal version 2 is deactivated"));
}

TEST_F(MirrorTest, SaysThatADataSetDoesNotExist) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  DatasetCache cache(options(mirror.url()));
  EXPECT_EQ(failure(cache, openml(99999)).code, ErrorCode::kDatasetNotFound);
  EXPECT_EQ(failure(cache, openml("no such/set")).code, ErrorCode::kDatasetNotFound);
  EXPECT_EQ(failure(cache, openml("anneal", 2)).message, "openml: there is no active data set 'anneal' version 2");
  EXPECT_EQ(failure(cache, {UrlRef{.url = mirror.url() + "/nothing.csv"}}).code, ErrorCode::kDatasetNotFound);
}

TEST_F(MirrorTest, TriesAgainAfterServerErrors) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--status-5xx", "2"});
  DatasetCache cache(options(mirror.url()));
  EXPECT_TRUE(acquire(cache, openml(61)).cold);
}

TEST_F(MirrorTest, GivesUpAfterThreeServerErrors) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--status-5xx", "1000"});
  DatasetCache cache(options(mirror.url()));
  const auto error = failure(cache, openml(61));
  EXPECT_EQ(error.code, ErrorCode::kDatasetUnavailable);
  EXPECT_EQ(error.message, "openml: the server answered 503, 3 attempts");
  EXPECT_EQ(mirror.count_requests(""), 3);
}

struct Fault {
  const char* name;
  std::vector<std::string> arguments;
  ErrorCode code;
  const char* cause;
};
void PrintTo(const Fault& f, std::ostream* out) { *out << f.name; }

class FaultyDownload : public CacheTest, public testing::WithParamInterface<Fault> {};

TEST_P(FaultyDownload, IsNeverUsed) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror(GetParam().arguments);
  DatasetCache cache(options(mirror.url()));
  const auto error = failure(cache, openml(151));
  EXPECT_EQ(error.code, GetParam().code) << error.message;
  EXPECT_THAT(error.message, HasSubstr(GetParam().cause));
  EXPECT_THAT(error.message, HasSubstr("openml electricity version 1: "));
  EXPECT_EQ(mirror.count_requests("/download/"), 3);
  EXPECT_EQ(count_files(), 0);
}

TEST_P(FaultyDownload, SucceedsWhenTheFaultHasPassed) {
  KEDGE_NEEDS_MIRROR();
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--fault-count", "2"});
  const Mirror mirror(arguments);
  DatasetCache cache(options(mirror.url()));
  EXPECT_EQ(engine::DatasetFile(acquire(cache, openml(151)).path).meta().n_rows, 45312);
  EXPECT_EQ(mirror.count_requests("/download/"), 3);
  EXPECT_EQ(count_files(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyDownload,
    testing::Values(Fault{"drop", {"--drop-after", "100000"}, ErrorCode::kDatasetUnavailable, "connection closed after 300.0 kB of 693.6 kB"},
                    Fault{"reset", {"--drop-after", "100000", "--reset"}, ErrorCode::kDatasetUnavailable, "connection closed after"},
                    Fault{"drop_chunked", {"--drop-after", "100000", "--chunked"}, ErrorCode::kDatasetUnavailable, "connection closed after 3"},
                    Fault{"drop_plain", {"--drop-after", "100000", "--gzip", "never"}, ErrorCode::kDatasetUnavailable, "of 3.1 MB"},
                    Fault{"corrupt_body", {"--corrupt", "body"}, ErrorCode::kDatasetCorrupt, "of the received file is not 8ca97867d960ae029ae3a9ac2c923d34"},
                    Fault{"corrupt_wire", {"--corrupt", "wire"}, ErrorCode::kDatasetCorrupt, "3 attempts"},
                    Fault{"length_too_long", {"--lie-length", "1000"}, ErrorCode::kDatasetUnavailable, "connection closed after 693.6 kB of 694.6 kB"},
                    Fault{"length_too_short", {"--lie-length", "-1000"}, ErrorCode::kDatasetUnavailable, "ends in the middle of its gzip stream"},
                    Fault{"length_too_short_plain", {"--lie-length", "-1000", "--gzip", "never"}, ErrorCode::kDatasetCorrupt, "checksum"}),
    [](const auto& info) { return info.param.name; });

TEST_F(MirrorTest, ContinuesWhereADownloadBrokeOff) {
  KEDGE_NEEDS_MIRROR();
  for (const char* gzip : {"auto", "never"}) {
    const Mirror mirror({"--drop-after", "100000", "--fault-count", "1", "--gzip", gzip});
    DataOptions fresh = options(mirror.url());
    fresh.directory /= gzip;
    DatasetCache cache(fresh);
    EXPECT_EQ(engine::DatasetFile(acquire(cache, openml(151)).path).meta().n_rows, 45312);
    EXPECT_EQ(mirror.count_requests("\"range\": \"bytes=100000-\""), 1);
    EXPECT_EQ(mirror.count_requests("\"status\": 206"), 1);
  }
}

TEST_F(MirrorTest, TakesChunkedAndPlainAnswers) {
  KEDGE_NEEDS_MIRROR();
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--chunked"}, {"--gzip", "never"}, {"--no-range"}}) {
    const Mirror mirror(arguments);
    DatasetCache cache(options(mirror.url()));
    EXPECT_EQ(engine::DatasetFile(acquire(cache, openml(61)).path).meta().n_rows, 150);
  }
}

TEST_F(MirrorTest, FollowsARedirectOnlyToWhereItMayConnect) {
  KEDGE_NEEDS_MIRROR();
  const Mirror target;
  const Mirror mirror({"--redirect-to", target.url()});
  DatasetCache strict(options(mirror.url()));
  const auto error = failure(strict, openml(61));
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_THAT(error.message, HasSubstr("is 127.0.0.1, a loopback address: connections to it are not allowed"));
  EXPECT_EQ(target.count_requests(""), 0);
  DataOptions permissive = options(mirror.url());
  permissive.allow_fetch = {target.host()};
  DatasetCache cache(permissive);
  EXPECT_TRUE(acquire(cache, openml(61)).cold);
  EXPECT_EQ(target.count_requests("/download/"), 1);
}

TEST_F(MirrorTest, EndsARedirectLoop) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--redirect-to", "/.."});
  DatasetCache cache(options(mirror.url()));
  EXPECT_THAT(failure(cache, openml(61)).message, HasSubstr("more than 5 redirects"));
}

TEST_F(MirrorTest, RefusesWhatIsLargerThanTheLimit) {
  KEDGE_NEEDS_MIRROR();
  for (const char* gzip : {"auto", "never"}) {
    const Mirror mirror({"--gzip", gzip});
    DataOptions small = options(mirror.url());
    small.max_download_bytes = 1'000'000;
    DatasetCache cache(small);
    const auto error = failure(cache, openml(151));
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_THAT(error.message, HasSubstr("larger than the limit"));
    EXPECT_EQ(count_files(), 0);
  }
}

TEST_F(MirrorTest, CancelsASlowDownloadAtOnce) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--throttle-bps", "20000"});
  DatasetCache cache(options(mirror.url()));
  std::stop_source stop;
  std::chrono::steady_clock::time_point asked;
  const auto cancel_when_it_runs = [&](const schema::EventBody& event) {
    const auto* progress = std::get_if<schema::ProgressEvent>(&event);
    if (!progress || progress->done == 0 || stop.stop_requested()) return;
    EXPECT_EQ(progress->phase, "download");
    EXPECT_EQ(progress->total, 693571);
    asked = std::chrono::steady_clock::now();
    stop.request_stop();
  };
  try {
    cache.acquire(openml(151), cancel_when_it_runs, stop.get_token());
    FAIL() << "was not cancelled";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, kCancelDeadline);
  }
}

TEST_F(MirrorTest, DownloadsOnceForConcurrentCallsAndReportsToAllOfThem) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--throttle-bps", "2000000"});
  DatasetCache cache(options(mirror.url()));
  constexpr int kCalls = 6;
  std::atomic<int> told = 0, cold = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCalls; ++i)
      threads.emplace_back([&, i] {
        bool heard = false;
        const auto hear = [&](const schema::EventBody& event) { heard |= std::holds_alternative<schema::ProgressEvent>(event); };
        // Half of the calls ask by name, which is another reference to the same file.
        cold += cache.acquire(i % 2 ? openml(151) : openml("electricity", 1), hear, {}).cold;
        told += heard;
      });
  }
  EXPECT_EQ(mirror.count_requests("/download/"), 1);
  EXPECT_EQ(cold, kCalls);
  EXPECT_GE(told, kCalls / 2);
  EXPECT_EQ(count_files(), 1);
}

TEST_F(MirrorTest, ContinuesForTheOthersWhenOneIsCancelled) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--throttle-bps", "300000"});
  DatasetCache cache(options(mirror.url()));
  std::stop_source stop;
  std::atomic<bool> second_waits = false;
  std::jthread cancelled([&] {
    const auto hear = [&](const schema::EventBody&) { if (second_waits) stop.request_stop(); };
    EXPECT_THROW(cache.acquire(openml(151), hear, stop.get_token()), schema::Error);
  });
  const auto hear = [&](const schema::EventBody&) { second_waits = true; };
  EXPECT_EQ(engine::DatasetFile(cache.acquire(openml(151), hear, {}).path).meta().n_rows, 45312);
  cancelled.join();
  EXPECT_EQ(mirror.count_requests("/download/"), 1);
}

TEST_F(MirrorTest, StartsAfreshWhenACancelledDownloadIsRequestedAgain) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror({"--throttle-bps", "400000"});
  DatasetCache cache(options(mirror.url()));
  for (int i = 0; i < 3; ++i) {
    std::stop_source stop;
    EXPECT_THROW(cache.acquire(openml(151), [&](const schema::EventBody&) { stop.request_stop(); }, stop.get_token()), schema::Error);
  }
  EXPECT_EQ(engine::DatasetFile(acquire(cache, openml(151)).path).meta().n_rows, 45312);
}

std::string file_url(const Mirror& mirror) { return mirror.url() + "/data/v1/download/61/iris.arff"; }

TEST_F(MirrorTest, ReadsAFileByUrlWithItsChecksum) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  DataOptions allowing = options("http://openml.invalid");
  allowing.allow_fetch = {"127.0.0.0/8"};
  DatasetCache cache(allowing);
  const auto wrong = failure(cache, {UrlRef{.url = file_url(mirror), .format = "arff", .sha256 = std::string(64, 'a')}});
  EXPECT_EQ(wrong.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(wrong.message, HasSubstr("iris.arff: checksum "));
  const UrlRef ref{.url = file_url(mirror), .format = "arff", .sha256 = wrong.message.substr(std::string("iris.arff: checksum ").size(), 64), .target = "sepallength"};
  EXPECT_EQ(engine::DatasetFile(acquire(cache, {ref}).path).meta().target, "sepallength");
  const int requests = mirror.count_requests("");
  EXPECT_FALSE(acquire(cache, {ref}).cold);
  EXPECT_EQ(mirror.count_requests(""), requests);
}

TEST_F(MirrorTest, AsksWhetherAFileByUrlHasChanged) {
  KEDGE_NEEDS_MIRROR();
  auto mirror = std::make_unique<Mirror>();
  DataOptions allowing = options("http://openml.invalid");
  allowing.allow_fetch = {"127.0.0.1"};
  DatasetCache cache(allowing);
  const UrlRef ref{.url = file_url(*mirror), .format = "arff"};
  const auto first = acquire(cache, {ref});
  EXPECT_TRUE(first.cold);
  EXPECT_FALSE(acquire(cache, {ref}).cold);
  EXPECT_EQ(mirror->count_requests("\"status\": 304"), 1);
  mirror.reset();
  EXPECT_EQ(acquire(cache, {ref}).path, first.path);
  EXPECT_THAT(log(), HasSubstr("the file that was fetched earlier is used"));
}

TEST_F(MirrorTest, NamesTheLineWhenAFileIsNoCsv) {
  KEDGE_NEEDS_MIRROR();
  const Mirror mirror;
  DatasetCache cache(options(mirror.url()));
  const auto error = failure(cache, {UrlRef{.url = file_url(mirror), .format = "csv"}});
  EXPECT_EQ(error.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(error.message, HasSubstr("iris.arff line "));
}

}  // namespace
}  // namespace kedge::server
