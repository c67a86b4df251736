// Files as answers: their own tag or a given one, whole for a request that names no range.
#include "server/api/file_answer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "schemas/error.h"

namespace kedge::server::api {
namespace {

struct FileAnswer : testing::Test {
  FileAnswer() { std::ofstream(path) << "0123456789"; }
  ~FileAnswer() override { std::filesystem::remove_all(folder); }

  static std::filesystem::path made_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-XXXXXX").string();
    return ::mkdtemp(name.data());
  }
  static std::string field(const http::Response& response, std::string_view name) {
    for (const auto& [key, value] : response.fields)
      if (http::same_name(key, name)) return value;
    return {};
  }

  const std::filesystem::path folder = made_folder(), path = folder / "answers.csv";
  http::Request request;
};

TEST_F(FileAnswer, HasTheTagOfItsFile) {
  const http::Response answer = file_answer(request, path, "text/csv", "a.csv");
  EXPECT_EQ(answer.body, "0123456789");
  EXPECT_EQ(field(answer, "ETag"), etag_of(path));
  request.fields = {{"If-None-Match", etag_of(path)}};
  EXPECT_EQ(file_answer(request, path, "text/csv", "a.csv").status, 304);
}

TEST_F(FileAnswer, TakesAnotherTagOfWhatItIsMadeOf) {
  const std::string tag = "\"made-of\"";
  EXPECT_EQ(field(file_answer(request, path, "text/csv", "a.csv", tag), "ETag"), tag);
  EXPECT_FALSE(unchanged(request, tag));
  request.fields = {{"If-None-Match", tag}};
  EXPECT_EQ(unchanged(request, tag)->status, 304);
  EXPECT_EQ(file_answer(request, path, "text/csv", "a.csv", tag).status, 304);
  request.fields = {{"If-Range", tag}, {"Range", "bytes=2-3"}};
  EXPECT_EQ(file_answer(request, path, "text/csv", "a.csv", tag).body, "23");
}

TEST_F(FileAnswer, IsWholeWhateverTheRequestSaysOfRanges) {
  request.fields = {{"Range", "bytes=2-3"}, {"If-None-Match", "*"}};
  const http::Response answer = body_of_file(request, path, "application/vnd.apache.parquet");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "0123456789");
  EXPECT_EQ(answer.content_type, "application/vnd.apache.parquet");
}

TEST_F(FileAnswer, OfAFileThatIsGoneIsNotFound) {
  const std::filesystem::path gone = folder / "gone.csv";
  EXPECT_EQ(etag_of(gone), "");
  EXPECT_THROW(file_answer(request, gone, "text/csv", "gone.csv"), schema::Error);
  EXPECT_THROW(body_of_file(request, gone, "text/csv"), schema::Error);
}

}   // namespace
}   // namespace kedge::server::api
