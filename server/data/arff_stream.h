// Parses ARFF while its text arrives: rows go to disk in parallel, and the text is never kept as a whole.
#pragma once

#include <memory>
#include <string_view>

#include "server/data/fetch.h"
#include "server/data/parse.h"

namespace kedge::server {

// A sink of text. Complete lines are handed to parsing threads in blocks of about kChunkBytes; write() waits while too many are
// in memory. Errors in the text wait for finish(), because a checksum may tell first that the text is not the right one.
// restart(), write() and finish() are called on one thread. Without finish() nothing is left behind.
class ArffStream final : public BodySink {
 public:
  explicit ArffStream(const ParseRequest& request);   // keeps a reference
  ~ArffStream() override;

  void restart() override;
  void write(std::string_view text) override;   // errors: kCancelled; kInternal (disk)
  // The text has ended and is right: writes the file. Errors as parse_arff.
  engine::DatasetMeta finish();

 private:
  class Run;
  const ParseRequest& request_;
  std::unique_ptr<Run> run_;
};

}  // namespace kedge::server
