// The conversation between kedged and kedge-arrow, the program that reads and writes Parquet and Arrow files: small
// messages on a local socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::engine {

// The reader begins with kColumns and waits for kGo, which brings the file that it fills. Then come kReads, any number
// of kProgress and one of the last three. After kNeedsFloat64 it waits for another kGo. The writer waits for kGo, with
// the file that it writes, and says kDone or kRefused.
enum class ArrowSays : std::uint8_t {
  kColumns,    // encode_meta() of what the file has: names, types, rows
  kGo,         // the descriptor of a file. To a reader with an ArrowOutput, and a byte for each column, 1 where it is
               // wanted; to a writer with an ArrowInput, a byte for each column, 1 where its numbers are written as
               // integers, and encode_meta() of the table
  kReads,      // two 64-bit integers: bytes of the file that hold the wanted columns, of all
  kProgress,   // two 64-bit integers: done, total
  kNeedsFloat64,   // a number is not exact in float32
  kDone,           // of a reader encode_meta() of the wanted columns: with categories, and how many cells are missing
  kRefused         // a byte, the schema::ErrorCode, and what is wrong with the file in words
};

struct ArrowMessage {
  ArrowSays says = ArrowSays::kRefused;
  std::string body;
  int file = -1;   // of kGo; the receiver closes it
};

// Where the values go: row-major, from this byte of the file on.
struct ArrowOutput {
  std::int64_t offset = 0;
  std::int64_t is_float32 = 0;
};

// What a writer makes.
enum class ArrowForm : std::int64_t { kFile, kStream, kParquet };

// The table that a writer has as its standard input: row-major, from this byte of it on.
struct ArrowInput {
  std::int64_t offset = 0;
  std::int64_t n_columns = 0;   // of the description
  ArrowForm form = ArrowForm::kFile;
};

// One end of a stream socket, which it does not own. One thread sends, one receives.
class ArrowChannel {
 public:
  explicit ArrowChannel(int socket) : socket_(socket) {}

  // `file` goes along unless it is -1. False: the other end is gone.
  bool send(ArrowSays says, std::string_view body, int file = -1);
  // False: the other end is gone, or what it sends is no message.
  bool receive(ArrowMessage& message);

 private:
  bool receive_bytes(void* to, std::size_t size, int* file);
  int socket_;
};

}   // namespace kedge::engine
