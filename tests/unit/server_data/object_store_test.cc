// What s3:// and gs:// addresses mean, lists of objects page by page, and the tables that become one.
#include "server/data/object_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/error.h"
#include "server/data/hugging_face.h"
#include "server/data/join_tables.h"
#include "tests/unit/server_data/parsing.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string url_of(const std::string& url, const std::vector<ObjectStore>& stores = {}) {
  return object_request(stores, url).url;
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "no error";
}

TEST(ObjectStore, NamesTheAddressOfAnObject) {
  EXPECT_EQ(url_of("s3://open-data/a b/ü+1.csv"), "https://open-data.s3.amazonaws.com/a%20b/%C3%BC%2B1.csv");
  EXPECT_EQ(url_of("gs://open-data/x.csv"), "https://storage.googleapis.com/open-data/x.csv");
  EXPECT_EQ(url_of("https://host/x.csv"), "https://host/x.csv");
  const std::vector<ObjectStore> stores{{.prefix = "s3://mine",
                                         .endpoint = "",
                                         .signing = {.region = "eu-west-1", .key_id = "k", .secret = "s", .token = ""}},
                                        {.prefix = "s3://mine/deep/", .endpoint = "http://minio:9000", .signing = {}}};
  EXPECT_EQ(url_of("s3://mine/x.csv", stores), "https://s3.eu-west-1.amazonaws.com/mine/x.csv");
  EXPECT_EQ(url_of("s3://mine/deep/x.csv", stores), "http://minio:9000/mine/deep/x.csv");   // the longest prefix counts
  EXPECT_EQ(object_request(stores, "s3://mine/x.csv").signing.key_id, "k");
  EXPECT_EQ(object_request(stores, "s3://other/x.csv").signing.key_id, "");
}

TEST(ObjectStore, RefusesWhatNamesNoObject) {
  for (const char* url : {"s3://bucket", "s3://bucket/", "s3://bucket/folder/"})
    EXPECT_THAT(error_of([&] { split_object_url(url); }), HasSubstr("names no object")) << url;
  for (const char* url : {"s3:///x", "s3://B/x", "s3://a@b.c/x", "gs://user:word@host/x"})
    EXPECT_THAT(error_of([&] { split_object_url(url); }), HasSubstr("is no name of a bucket")) << url;
}

std::string page(const std::string& objects, const std::string& next) {
  const std::string body =
      fmt::format("<?xml version=\"1.0\"?><ListBucketResult>{}{}</ListBucketResult>", objects,
                  next.empty() ? "" : "<NextContinuationToken>" + next + "</NextContinuationToken>");
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

std::string object(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><ETag>\"e\"</ETag><Size>7</Size></Contents>";
}

std::vector<std::string> keys_of(const std::string& pattern, std::vector<std::string> answers,
                                 std::vector<std::string>* requests = nullptr) {
  const ScriptedServer server(std::move(answers));
  const std::string endpoint = server.url().substr(0, server.url().rfind('/'));
  const std::vector<ObjectStore> stores{{.prefix = "s3://",
                                         .endpoint = endpoint,
                                         .signing = {.region = "here", .key_id = "id", .secret = "s", .token = "t"}}};
  const FetchLibrary library;
  const Fetcher fetcher(AddressRules({"127.0.0.1"}, "https://www.openml.org"), {});
  std::vector<std::string> keys;
  for (const ObjectInfo& found : list_objects(stores, pattern, fetcher, "", {})) keys.push_back(found.key);
  if (requests) *requests = server.requests();
  return keys;
}

TEST(ObjectStore, ListsWhatAPatternNamesPageByPageAndSigned) {
  std::vector<std::string> requests;
  const auto keys =
      keys_of("s3://bucket/in/part-*.csv",
              {page(object("in/part-2.csv") + object("in/part-x/1.csv") + object("in/part-2.txt"), "a/b="),
               page(object("in/part-1.csv") + object("in/part-.csv"), "")},
              &requests);
  EXPECT_THAT(keys, ElementsAre("in/part-.csv", "in/part-1.csv", "in/part-2.csv"));
  EXPECT_THAT(requests,
              ElementsAre(HasSubstr("GET /bucket/?list-type=2&prefix=in%2Fpart- HTTP"),
                          HasSubstr("GET /bucket/?continuation-token=a%2Fb%3D&list-type=2&prefix=in%2Fpart- HTTP")));
  for (const std::string& request : requests) {
    EXPECT_THAT(request, HasSubstr("Authorization: AWS4-HMAC-SHA256 Credential=id/"));
    EXPECT_THAT(request, HasSubstr("/here/s3/aws4_request"));
    EXPECT_THAT(request, HasSubstr("x-amz-security-token: t"));
  }
}

TEST(ObjectStore, SaysWhatIsWrongWithAList) {
  EXPECT_THAT(error_of([] { keys_of("s3://bucket/*.csv", {page(object("x.txt"), "")}); }),
              HasSubstr("names no object"));
  EXPECT_THAT(error_of([] { keys_of("s3://bucket/*.csv", {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nno <"}); }),
              HasSubstr("is not one of S3"));
  EXPECT_THAT(error_of([] { keys_of("s3://bucket/*.csv", {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"}); }),
              HasSubstr("the operator's keys for it are wrong, have expired"));
}

TEST(ObjectStore, KeepsItsSignatureFromWhereARequestIsRedirected) {
  const ScriptedServer elsewhere({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"});
  const ScriptedServer store(
      {fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url())});
  const TemporaryDirectory directory;
  const FetchLibrary library;
  const Fetcher fetcher(AddressRules({"127.0.0.1"}, "https://www.openml.org"), {});
  FetchRequest request{.what = "x", .url = store.url()};
  request.signing = {.region = "here", .key_id = "id", .secret = "s", .token = ""};
  fetcher.to_file(request, directory.path() / "x", {}, {});
  EXPECT_THAT(store.requests().at(0), HasSubstr("Authorization: AWS4"));
  EXPECT_THAT(elsewhere.requests().at(0), testing::Not(HasSubstr("Authorization")));
}

TEST(Hub, ReadsAnAddressAsPandasAndPolarsDo) {
  const HubAddress made = split_hub_url("hf://datasets/own-er/na.me@~parquet/default/train/*.parquet");
  EXPECT_EQ(made.name, "own-er/na.me");
  EXPECT_EQ(made.revision, "refs/convert/parquet");
  EXPECT_EQ(made.folder, "default/train");
  EXPECT_EQ(made.file, "*.parquet");
  EXPECT_EQ(split_hub_url("hf://datasets/a/b/x.csv").revision, "main");
  EXPECT_EQ(split_hub_url("hf://datasets/a/b@v1/x.csv").revision, "v1");
  EXPECT_EQ(split_hub_url("hf://datasets/a/b/x.csv").folder, "");
}

TEST(Hub, RefusesWhatIsNoAddressOfAFile) {
  for (const char* url : {"hf://models/a/b/x", "hf://datasets/a", "hf://datasets/a/b", "hf://datasets/a/b/",
                          "hf://datasets/a/b/c/", "hf://datasets/../b/x", "hf://datasets/a/b?x/y",
                          "hf://datasets/a/b@/x", "hf://datasets/a/b@r r/x", "hf://datasets/a/b/*/x.csv"})
    EXPECT_THAT(error_of([&] { split_hub_url(url); }), HasSubstr("must be hf://datasets/OWNER/NAME/PATH")) << url;
}

struct JoinTables : testing::Test {
  TablePartFile part(const std::string& name, const std::string& csv) {
    const auto file = directory.path() / (name + ".kds");
    parse_csv(csv, {.source = name, .output = file});
    return {name, file};
  }
  Parsed joined(const std::vector<TablePartFile>& parts) {
    const auto file = directory.path() / "all.kds";
    join_tables(parts, file, [](engine::DatasetMeta& meta) { meta.name = "all"; });
    return read_file(file);
  }
  TemporaryDirectory directory;
};

TEST_F(JoinTables, HasTheRowsOfAllAndTheCategoriesOfAll) {
  const Parsed all =
      joined({part("a", "x,kind\n1,b\n,d\n"), part("b", "x,kind\n0.1,a\n3,\n"), part("c", "x,kind\n4,d\n")});
  EXPECT_THAT(all.meta.columns[1].categories, ElementsAre("a", "b", "d"));
  EXPECT_EQ(all.meta.columns[0].missing, 1);
  EXPECT_EQ(all.meta.columns[1].missing, 1);
  EXPECT_FALSE(all.meta.is_float32);   // because of 0.1
  EXPECT_THAT(all.values, ElementsAre(1, 1, testing::IsNan(), 2, 0.1, 0, 3, testing::IsNan(), 4, 2));
}

TEST_F(JoinTables, NamesThePartThatDiffers) {
  const TablePartFile first = part("a", "x,kind\n1,b\n");
  EXPECT_EQ(error_of([&] { joined({first, part("b", "x,kind,z\n1,b,2\n")}); }), "b has 3 columns, a has 2");
  EXPECT_EQ(error_of([&] { joined({first, part("b", "x,sort\n1,b\n")}); }), "b: column 2 is 'sort', in a it is 'kind'");
  EXPECT_EQ(error_of([&] { joined({first, part("b", "x,kind\nu,b\n")}); }),
            "b: column 'x' holds texts, in a it holds numbers");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "all.kds"));
}

}   // namespace
}   // namespace kedge::server
