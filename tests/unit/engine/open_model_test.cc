// The open form of models: the state of every estimator comes back from it byte for byte, and what is no open form is
// refused by name.
#include "engine/open_model/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class OpenModel : public ::testing::Test {
 protected:
  ~OpenModel() override { fs::remove_all(folder_); }

  fs::path seed(const std::string& name) const { return fs::path(KEDGE_MODEL_SEEDS) / name; }
  std::string opened(const fs::path& model) {
    write_open_model(ModelFile(model), folder_ / "open.zip");
    return bytes_of(folder_ / "open.zip");
  }
  std::string closed(std::string_view zip) { return read_open_model(zip, folder_ / "scratch"); }
  // The message with which it is refused, as a damaged model is.
  std::string refusal(std::string_view zip) {
    try {
      closed(zip);
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kModelCorrupt) << error.message;
      return error.message;
    }
    return "none";
  }
  // The open form of a scaler's model, with one text put in place of another of the same length.
  std::string changed(std::string_view from, std::string_view to) {
    std::string zip = opened(seed("StandardScaler"));
    const std::size_t at = zip.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) zip.replace(at, from.size(), to);
    return zip;
  }

  fs::path folder_ = [] {
    fs::path made = fs::temp_directory_path() / ("kedge-open-model-" + std::to_string(::getpid()));
    fs::create_directories(made);
    return made;
  }();
};

TEST_F(OpenModel, BringsBackEveryModel) {
  int n_models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(KEDGE_MODEL_SEEDS)) {
    if (entry.path().filename() == "steps") continue;
    const ModelFile before(entry.path());
    std::ofstream(folder_ / "closed", std::ios::binary) << closed(opened(entry.path()));
    const ModelFile after(folder_ / "closed");
    EXPECT_EQ(text_of(after.state()), text_of(before.state())) << entry.path().filename();
    EXPECT_TRUE(text_of(after.tensors()) == text_of(before.tensors())) << entry.path().filename();
    EXPECT_EQ(schema::to_json(after.info()), schema::to_json(before.info())) << entry.path().filename();
    ++n_models;
  }
  EXPECT_GE(n_models, 50);
  EXPECT_FALSE(fs::exists(folder_ / "scratch"));
}

TEST_F(OpenModel, OfEqualModelsIsTheSameFile) {
  EXPECT_TRUE(opened(seed("KMeans")) == opened(seed("KMeans")));
}

TEST_F(OpenModel, RefusesWhatIsNone) {
  EXPECT_THAT(refusal("no ZIP at all"), HasSubstr("it is no ZIP"));
  const std::string zip = opened(seed("StandardScaler"));
  EXPECT_THAT(refusal(std::string_view(zip).substr(0, zip.size() / 2)), HasSubstr("open model: "));
}

TEST_F(OpenModel, SaysWhichMemberIsMissing) {
  // Each name stands before the member and in the list at the end, which is the one that counts.
  std::string zip = opened(seed("StandardScaler"));
  const std::size_t listed = zip.rfind("model.json");
  EXPECT_THAT(refusal(zip.replace(listed, 10, "modal.json")), HasSubstr("it has no member 'model.json'"));
}

TEST_F(OpenModel, FindsDamage) {
  EXPECT_THAT(refusal(changed("\"kedge.model\"", "\"kedge.modal\"")), HasSubstr("damaged"));   // its CRC is another
  EXPECT_THAT(refusal(changed("'<f8'", "'<f4'")), HasSubstr("damaged"));
}

}   // namespace
}   // namespace kedge::engine
