// Frames, words and keys of host-exec.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "client/host/frames.h"
#include "client/host/key.h"
#include "client/host/words.h"
#include "schemas/error.h"

namespace kedge::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
    return "nothing is wrong";
  } catch (const schema::Error& error) {
    return error.message;
  }
}

TEST(Words, AreDividedAsAShellDividesThem) {
  EXPECT_THAT(
      shell_words(R"x( orted -mca ess "env"  -mca x "a b" 'c "d' e\ f "" g"h"'i' "[2:10].0.0.2@0(2)")x"),
      ElementsAre("orted", "-mca", "ess", "env", "-mca", "x", "a b", "c \"d", "e f", "", "ghi", "[2:10].0.0.2@0(2)"));
  EXPECT_THAT(shell_words(R"("a\"b\\c\d" '$x')"), ElementsAre("a\"b\\c\\d", "$x"));
  EXPECT_TRUE(shell_words("  ").empty());
}

TEST(Words, ThatOnlyAShellCouldReadAreRefused) {
  for (const char* text : {"PATH=/x:$PATH", "a ; b", "a|b", "a & b", "a `b`", "a > b", "\"$x\"", "(a)", "a\nb"})
    EXPECT_THAT(refusal([&] { shell_words(text); }), HasSubstr("needs a shell")) << text;
  for (const char* text : {"'a", "\"a b", "a 'b\""})
    EXPECT_THAT(refusal([&] { shell_words(text); }), HasSubstr("open quote")) << text;
}

TEST(Frames, ComeOutAsTheyWentInWhateverThePieces) {
  const std::string bytes = encoded(FrameKind::kOutput, "abc") + encoded(FrameKind::kBeat, "") +
                            encoded(FrameKind::kErrors, std::string(70'000, 'x'));
  std::string received;
  std::vector<Frame> frames;
  for (const char c : bytes) {
    received += c;
    while (const auto frame = take_frame(received)) frames.push_back(*frame);
  }
  EXPECT_THAT(frames, ElementsAre(Frame{FrameKind::kOutput, "abc"}, Frame{FrameKind::kBeat, ""},
                                  Frame{FrameKind::kErrors, std::string(70'000, 'x')}));
  EXPECT_TRUE(received.empty());
}

TEST(Frames, ThatAreNoneAreRefused) {
  std::string web = "GET / HTTP/1.1\r\n", wide("C\xff\xff\xff\xff", 5);
  EXPECT_THAT(refusal([&] { take_frame(web); }), HasSubstr("does not speak the protocol"));
  EXPECT_THAT(refusal([&] { take_frame(wide); }), HasSubstr("too long"));
  EXPECT_THAT(refusal([&] { divided("orted"); }), HasSubstr("last word is cut"));
  EXPECT_THAT(divided(joined({"a", "", "b c"})), ElementsAre("a", "", "b c"));
}

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (std::filesystem::temp_directory_path() / "kedge-key-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder, file_ = folder_ / "cluster.key";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_, file_;
};

TEST_F(KeyFile, IsReadAsItWasWritten) {
  const HostKey key = make_host_key();
  write_host_key(host_key_text(key), file_);
  EXPECT_EQ(read_host_key(file_), key);
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(make_host_key().token, key.token);
}

TEST_F(KeyFile, IsNotReplacedAndNotTakenWhenOthersMayReadIt) {
  write_host_key(host_key_text(make_host_key()), file_);
  EXPECT_THAT(refusal([&] { write_host_key(host_key_text(make_host_key()), file_); }), HasSubstr("is there already"));
  ::chmod(file_.c_str(), 0644);
  EXPECT_THAT(refusal([&] { read_host_key(file_); }), HasSubstr("has the mode 0644, must be closed to others"));
}

TEST_F(KeyFile, OfAnotherKindIsRefused) {
  EXPECT_THAT(refusal([&] { read_host_key(file_); }), HasSubstr("cannot read the key"));
  std::ofstream(file_) << "kedge-host-token: abc\n";
  ::chmod(file_.c_str(), 0600);
  EXPECT_THAT(refusal([&] { read_host_key(file_); }), HasSubstr("is no key of `kedge host-agent --new-key`"));
}

}   // namespace
}   // namespace kedge::host
