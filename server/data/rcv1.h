// The table of one topic of scikit-learn's fetch_rcv1, which has 103 targets: sklearn://rcv1/CCAT.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

struct Rcv1File {
  std::string_view name, address, sha256;   // as those of a SklearnSet
};

struct Rcv1Set {
  std::string topic;               // "CCAT"
  std::vector<Rcv1File> vectors;   // in the order of scikit-learn's rows
};

inline constexpr Rcv1File kRcv1Topics{"rcv1v2.topics.qrels.gz", "/files/5976048",
                                      "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1"};

// Whether it names the set, with or without a topic: rcv1, rcv1_train, rcv1_test.
bool is_rcv1_url(std::string_view url);

// Errors: kInvalidValue where no topic is named.
Rcv1Set rcv1_set(const std::string& url);

// Stands for all files of a set: the SHA-256 of theirs in hexadecimal, a line each, the topics' first.
std::string rcv1_digest(const std::vector<std::string>& digests);
std::string rcv1_digest(const Rcv1Set& set);

// Which documents have a topic. `topics`: the file of lines "topic document 1", packed or not.
// Errors: kInvalidValue for a topic that the file does not have, with the nearest; kDatasetCorrupt.
class Rcv1Labels {
 public:
  Rcv1Labels(std::string_view topics, const std::string& topic);
  bool at(std::uint32_t document) const;   // Errors: kDatasetCorrupt for one without any topic

 private:
  std::vector<std::uint64_t> documents_;   // ascending: twice the number, 1 more if it has the topic
};

// libsvm text: the vectors' rows, with 0 or 1 in the place of the documents' numbers.
class Rcv1Text {
 public:
  Rcv1Text(const std::filesystem::path& path, const Rcv1Labels& labels, std::int64_t most_bytes);
  // Errors: kDatasetCorrupt for what is not such a file; kInvalidValue beyond `most_bytes`.
  void add(std::string_view name, std::string_view vectors);
  void finish();

 private:
  void add_row(std::string_view name, std::string_view line);

  const std::filesystem::path& path_;
  const Rcv1Labels& labels_;
  const std::int64_t most_bytes_;
  std::ofstream out_;
  std::int64_t written_ = 0;
};

}   // namespace kedge::server
