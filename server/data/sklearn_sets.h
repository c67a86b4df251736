// The data sets of scikit-learn's fetch_... functions: sklearn://covtype. Addresses and SHA-256 are those of
// scikit-learn 1.9, so what comes is what its users have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

bool is_sklearn_url(std::string_view url);

struct SklearnSet {
  std::string_view name;      // "covtype"
  std::string_view address;   // of figshare, whose host an operator's store can take the place of
  std::string_view file;      // for messages
  std::string_view sha256;    // of the file as it comes
  std::string_view member;    // of a tar archive: the text within; empty: the file is the text, packed by gzip
  std::string_view header;    // the names of the columns, the target last
  // Makes lines of `member` lines of the table; null: they are.
  std::string (*rewrite)(std::string_view line) = nullptr;
  // Makes the whole table of the file, its header included; null: as above.
  void (*make)(std::string_view file, std::string_view options,
               const std::function<void(std::string_view)>& write) = nullptr;
  // What may follow the name and a slash. Errors of this: kInvalidValue. Null: nothing may.
  void (*check)(std::string_view options) = nullptr;
  std::string_view options = {};   // what follows
};

// Its options are within the url. Errors: kInvalidValue for a name that is not there, with the nearest, and for wrong
// options.
SklearnSet sklearn_set(const std::string& url);
std::vector<std::string_view> sklearn_set_names();

// The table of the file that came, as CSV. Errors: kDatasetCorrupt for what is not such a file; kInvalidValue beyond
// `most_bytes`.
void write_sklearn_table(const SklearnSet& set, std::string_view file, const std::filesystem::path& csv,
                         std::int64_t most_bytes);

}   // namespace kedge::server
