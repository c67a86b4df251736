// Several files by one address, and the sets that scikit-learn fetches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "engine/core/dataset_file.h"
#include "server/data/mapped_text.h"
#include "server/data/sklearn_sets.h"
#include "server/data/url_pattern.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/gzip.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string answer(const std::string& body, const std::string& etag = "") {
  return "HTTP/1.1 200 OK\r\n" + (etag.empty() ? "" : "ETag: \"" + etag + "\"\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
const std::string kUnchanged = "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n";

template <class Call>
schema::Error error_of(const Call& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(UrlPattern, StandsForEachOfItsTexts) {
  EXPECT_THAT(expand_url_pattern("http://a/{x,yy}.csv"), ElementsAre("http://a/x.csv", "http://a/yy.csv"));
  EXPECT_THAT(expand_url_pattern("http://a/[8-11].csv"),
              ElementsAre("http://a/8.csv", "http://a/9.csv", "http://a/10.csv", "http://a/11.csv"));
  EXPECT_THAT(expand_url_pattern("[008-10]"), ElementsAre("008", "009", "010"));
  EXPECT_THAT(expand_url_pattern("[0-20:10]"), ElementsAre("0", "10", "20"));
  EXPECT_THAT(expand_url_pattern("{a,b}-[1-2]"), ElementsAre("a-1", "a-2", "b-1", "b-2"));
  EXPECT_THAT(expand_url_pattern("[c-e]"), ElementsAre("c", "d", "e"));
  EXPECT_THAT(expand_url_pattern("{http://a/x,http://b/y}"), ElementsAre("http://a/x", "http://b/y"));
}

TEST(UrlPattern, LeavesOtherBracketsAsTheyAre) {
  for (const char* url : {"http://a/x.csv", "http://[::1]:80/x", "http://a/x?filter[name]=1&b[]=2", "http://a/{x}.csv",
                          "http://a/{x,y.csv", "http://a/[1-].csv", "http://a/[a-10].csv", "http://a/[1-5:0].csv",
                          "http://a/[1-1234567890123].csv"}) {
    EXPECT_FALSE(is_url_pattern(url)) << url;
    EXPECT_THAT(expand_url_pattern(url), ElementsAre(url));
  }
}

TEST(UrlPattern, RefusesTooManyAndARangeThatGoesBack) {
  EXPECT_THAT(error_of([] { expand_url_pattern("[1-1001]"); }).message, HasSubstr("more than 1000 files"));
  EXPECT_THAT(error_of([] { expand_url_pattern("[1-100]{a,b}[1-9]"); }).message, HasSubstr("more than 1000 files"));
  EXPECT_THAT(error_of([] { expand_url_pattern("[9-1]"); }).message, HasSubstr("ends before it begins"));
  EXPECT_EQ(error_of([] { expand_url_pattern("[f-a]"); }).code, ErrorCode::kInvalidValue);
}

class SeveralUrls : public CacheTest {
 protected:
  DataOptions allowing() const {
    DataOptions given = options("http://openml.invalid");
    given.allow_fetch = {"127.0.0.1"};
    return given;
  }
};

TEST_F(SeveralUrls, AreOneTableInTheirOrder) {
  const ScriptedServer origin({answer("a,kind\n1,x\n2,z\n"), answer(gzip("a,kind\n3,y\n"))});
  DatasetCache cache(allowing());
  const AcquiredDataset acquired = acquire(cache, {schema::UrlRef{.url = origin.url() + "{1,2}.csv", .target = "a"}});
  const engine::DatasetFile file(acquired.path);
  EXPECT_EQ(file.meta().n_rows, 3);
  EXPECT_EQ(file.meta().target, "a");
  EXPECT_THAT(file.meta().columns[1].categories, ElementsAre("x", "y", "z"));
  EXPECT_TRUE(acquired.cold);
  EXPECT_THAT(origin.requests()[0], HasSubstr("GET /file1.csv "));
  EXPECT_THAT(origin.requests()[1], HasSubstr("GET /file2.csv "));
  EXPECT_EQ(count_files(), 1) << "the parts are gone";
}

TEST_F(SeveralUrls, ComeAgainOnlyWhenOneHasChanged) {
  const ScriptedServer origin({answer("a,b\n1,2\n", "one"), answer("a,b\n3,4\n", "two"), kUnchanged, kUnchanged,
                               kUnchanged, answer("a,b\n5,6\n", "three"), answer("a,b\n1,2\n", "one")});
  DatasetCache cache(allowing());
  const schema::DatasetRef ref{schema::UrlRef{.url = origin.url() + "[1-2].csv"}};
  const AcquiredDataset first = acquire(cache, ref), second = acquire(cache, ref);
  EXPECT_EQ(second.path, first.path);
  EXPECT_FALSE(second.cold);
  EXPECT_THAT(origin.requests()[2], HasSubstr("If-None-Match: \"one\""));
  EXPECT_THAT(origin.requests()[3], HasSubstr("If-None-Match: \"two\""));
  const AcquiredDataset third = acquire(cache, ref);
  EXPECT_NE(third.path, first.path);
  EXPECT_TRUE(third.cold);
  EXPECT_THAT(origin.requests()[6], testing::AllOf(HasSubstr("GET /file1.csv "), Not(HasSubstr("If-None-Match"))));
  EXPECT_EQ(engine::DatasetFile(third.path).meta().n_rows, 2);
}

TEST_F(SeveralUrls, MayBeGivenAsAList) {
  const ScriptedServer origin({answer("a,b\n1,2\n", "one"), answer("a,b\n3,4\n", "two"), kUnchanged, kUnchanged});
  DatasetCache cache(allowing());
  const schema::DatasetRef ref{schema::UrlRef{.urls = {origin.url() + "{x,1}.csv?a[1-2]", origin.url() + "2.csv"}}};
  const AcquiredDataset first = acquire(cache, ref), second = acquire(cache, ref);
  EXPECT_THAT(origin.requests()[0], HasSubstr("GET /file{x,1}.csv?a[1-2] ")) << "no pattern, as it stands";
  EXPECT_EQ(engine::DatasetFile(first.path).meta().n_rows, 2);
  EXPECT_THAT(engine::DatasetFile(first.path).meta().name, testing::EndsWith(".csv?a[1-2] and 1 more"));
  EXPECT_EQ(second.path, first.path);
  EXPECT_FALSE(second.cold);
  EXPECT_EQ(failure(cache, {schema::UrlRef{.urls = {"s3://bucket/a.csv"}}}).code, ErrorCode::kInvalidValue);
}

TEST_F(SeveralUrls, AreRefusedTogetherWhenOneIsMissingOrOther) {
  const ScriptedServer origin({answer("a,b\n1,2\n"), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                               answer("a,b\n1,2\n"), answer("a,c\n1,2\n")});
  DatasetCache cache(allowing());
  const schema::DatasetRef ref{schema::UrlRef{.url = origin.url() + "{1,2}.csv"}};
  EXPECT_EQ(failure(cache, ref).code, ErrorCode::kDatasetNotFound);
  const schema::Error other = failure(cache, ref);
  EXPECT_EQ(other.code, ErrorCode::kBadData);
  EXPECT_THAT(other.message, HasSubstr("file2.csv: column 2 is 'c', in file1.csv it is 'b'"));
  EXPECT_EQ(count_files(), 0);
  EXPECT_THAT(
      failure(cache, {schema::UrlRef{.url = origin.url() + "{1,2}.csv", .sha256 = std::string(64, '0')}}).message,
      HasSubstr("sha256 is of one file"));
}

TEST(SklearnSets, AreKnownByNameAlone) {
  EXPECT_EQ(sklearn_set("sklearn://covtype").sha256,
            "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771");
  const schema::Error error = error_of([] { sklearn_set("sklearn://covtyp"); });
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_THAT(
      error.message,
      HasSubstr(
          "did you mean 'covtype'?; there are 20newsgroups, 20newsgroups_all, 20newsgroups_test, california_housing"));
  EXPECT_EQ(error.where, "dataset.url.url");
}

TEST(SklearnSets, ThatAreAbsentSayWhy) {
  for (const auto& [name, reason] : std::map<std::string, std::string>{{"20newsgroups_vectorized", "CountVectorizer"},
                                                                       {"lfw_pairs", "two pictures"},
                                                                       {"species_distributions", "14 maps"},
                                                                       {"openml", "a form of its own"}}) {
    const schema::Error error = error_of([&] { sklearn_set("sklearn://" + name); });
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, "dataset.url.url");
    EXPECT_THAT(error.message, testing::AllOf(HasSubstr("'sklearn://" + name + "' is not fetched"), HasSubstr(reason),
                                              HasSubstr("there are 20newsgroups, 20newsgroups_all")));
  }
}

// A tar archive of one file.
std::string tar(const std::string& name, const std::string& content) {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  head.replace(124, 11, size, 11);
  std::string out = head + content;
  out.resize((out.size() + 511) / 512 * 512 + 1024, '\0');
  return out;
}

std::string table_of(const char* url, const std::string& file) {
  const TemporaryDirectory directory;
  const auto csv = directory.path() / "table.csv";
  write_sklearn_table(sklearn_set(url), file, csv, 1 << 20);
  return std::string(MappedText(csv).text());
}

TEST(SklearnSets, GiveTheColumnsThatScikitLearnComputes) {
  const std::string lines =
      "-122.23,37.88,41,880,129,322,126,8.3252,452600\n-122.22,37.86,21,7099,1106,2401,1138,8.3014,358500\n";
  const std::string expected =
      "MedInc,HouseAge,AveRooms,AveBedrms,Population,AveOccup,Latitude,Longitude,MedHouseVal\n"
      "8.3252,41,6.984126984126984,1.0238095238095237,322,2.5555555555555554,37.88,-122.23,4.526\n"
      "8.3014,21,6.238137082601054,0.9718804920913884,2401,2.109841827768014,37.86,-122.22,3.585\n";   // of
                                                                                                       // fetch_california_housing
  EXPECT_EQ(table_of("sklearn://california_housing", gzip(tar("CaliforniaHousing/cal_housing.data", lines))), expected);
  const auto refusal = [](const std::string& archive) {
    return error_of([&] { table_of("sklearn://california_housing", gzip(archive)); });
  };
  EXPECT_THAT(refusal(tar("other", lines)).message, HasSubstr("it has no file CaliforniaHousing/cal_housing.data"));
  EXPECT_THAT(refusal(tar("CaliforniaHousing/cal_housing.data", "1,2,x\n")).message,
              HasSubstr("the line '1,2,x' is not 9 numbers"));
  EXPECT_EQ(refusal("no archive at all").code, ErrorCode::kDatasetCorrupt);
}

TEST_F(SeveralUrls, OfScikitLearnAreFetchedOnceWithTheirChecksum) {
  std::string row = "1";
  for (int i = 2; i <= 55; ++i) row += "," + std::to_string(i);
  const std::string packed = gzip(row + "\n" + row + "\n");
  const ScriptedServer origin({answer(packed), answer(packed), answer(packed), answer(packed)});
  DataOptions given = allowing();
  given.stores = {{.prefix = "sklearn://", .endpoint = origin.url().substr(0, origin.url().rfind('/')), .signing = {}}};
  DatasetCache cache(given);
  const schema::Error wrong = failure(cache, {schema::UrlRef{.url = "sklearn://covtype"}});   // three attempts
  EXPECT_EQ(wrong.code, ErrorCode::kDatasetCorrupt);
  EXPECT_THAT(wrong.message, HasSubstr("614360d0257557dd"));
  const schema::DatasetRef ref{
      schema::UrlRef{.url = "sklearn://covtype", .sha256 = crypto::hex_digest(crypto::DigestKind::kSha256, packed)}};
  const AcquiredDataset first = acquire(cache, ref), second = acquire(cache, ref);
  const engine::DatasetFile file(first.path);
  EXPECT_EQ(file.meta().n_rows, 2);
  EXPECT_EQ(file.meta().target, "Cover_Type");
  EXPECT_EQ(file.meta().columns[14].name, "Soil_Type_0");
  EXPECT_EQ(second.path, first.path);
  EXPECT_THAT(origin.requests(), testing::SizeIs(4)) << "its checksum says that it cannot change";
  EXPECT_THAT(origin.requests()[3], HasSubstr("GET /files/5976039 "));
  EXPECT_THAT(failure(cache, {schema::UrlRef{.url = "sklearn://covtype", .format = "arff"}}).message,
              HasSubstr("has its own and needs none"));
}

TEST_F(SeveralUrls, OfScikitLearnHaveAShortForm) {
  const ScriptedServer origin({answer("x"), answer("x"), answer("x")});
  DataOptions given = allowing();
  given.stores = {{.prefix = "sklearn://", .endpoint = origin.url().substr(0, origin.url().rfind('/')), .signing = {}}};
  DatasetCache cache(given);
  EXPECT_TRUE(cache.needs_network({schema::SklearnRef{"covtype"}}, {}));
  EXPECT_EQ(failure(cache, {schema::SklearnRef{"covtype"}}).code, ErrorCode::kDatasetCorrupt);   // three attempts
  EXPECT_THAT(origin.requests()[0], HasSubstr("GET /files/5976039 "));
  const schema::Error unknown = failure(cache, {schema::SklearnRef{"covtyp"}});
  EXPECT_EQ(unknown.where, "dataset.sklearn");
  EXPECT_THAT(unknown.message, HasSubstr("did you mean 'covtype'?"));
}

}   // namespace
}   // namespace kedge::server
