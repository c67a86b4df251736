// Files of vectors and a list of topics as one libsvm text.
#include "server/data/rcv1.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <set>

#include "crypto/digest.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/upload_decoder.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kScheme = "sklearn://";
constexpr std::int64_t kFeatures = 47236;

// scikit-learn has the training set before the test set.
constexpr std::array kVectors{
    Rcv1File{"lyrl2004_vectors_train.dat.gz", "/files/5976057",
             "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae"},
    Rcv1File{"lyrl2004_vectors_test_pt0.dat.gz", "/files/5976069",
             "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374"},
    Rcv1File{"lyrl2004_vectors_test_pt1.dat.gz", "/files/5976066",
             "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6"},
    Rcv1File{"lyrl2004_vectors_test_pt2.dat.gz", "/files/5976063",
             "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5"},
    Rcv1File{"lyrl2004_vectors_test_pt3.dat.gz", "/files/5976060",
             "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39"},
};

struct Name {
  std::string_view set, topic;
};
Name name_of(std::string_view url) {
  const std::string_view name = url.substr(std::min(url.size(), kScheme.size()));
  const std::size_t slash = std::min(name.find('/'), name.size());
  return {name.substr(0, slash), name.substr(std::min(slash + 1, name.size()))};
}

void for_each_line(std::string_view name, std::string_view file, const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kPiece = std::size_t{1} << 20, kMostLine = std::size_t{4} << 20;
  std::string begun;   // a line whose end has not come
  const UploadDecoder::Sink sink = [&](std::string_view text) {
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
      if (begun.empty()) take(text.substr(0, end));
      else take(begun.append(text, 0, end)), begun.clear();
    }
    require(begun.size() + text.size() <= kMostLine, ErrorCode::kDatasetCorrupt, "{}: a line of more than {} bytes",
            name, kMostLine);
    begun += text;
  };
  UploadDecoder decoder{std::string(name)};
  for (; !file.empty(); file.remove_prefix(std::min(kPiece, file.size()))) decoder.feed(file.substr(0, kPiece), sink);
  decoder.finish(sink);
  if (!begun.empty()) take(begun);
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The index of the last "index:value" of a row, 0 where it has none.
std::optional<std::int64_t> last_index(std::string_view pairs) {
  pairs = pairs.substr(0, pairs.find_last_not_of(" \r") + 1);
  if (pairs.empty()) return 0;
  const std::string_view last = pairs.substr(pairs.rfind(' ') + 1);
  return whole<std::int64_t>(last.substr(0, last.find(':')));
}

}   // namespace

bool is_rcv1_url(std::string_view url) {
  if (!url.starts_with(kScheme)) return false;
  const std::string_view set = name_of(url).set;
  return set == "rcv1" || set == "rcv1_train" || set == "rcv1_test";
}

Rcv1Set rcv1_set(const std::string& url) {
  const auto [set, topic] = name_of(url);
  if (topic.empty())
    throw schema::Error(
        ErrorCode::kInvalidValue,
        fmt::format("'{}' has 103 topics, a table has one target: name one, as in 'sklearn://{}/CCAT'", url, set),
        "dataset.url.url");
  const auto begin = kVectors.begin() + (set == "rcv1_test"), end = set == "rcv1_train" ? begin + 1 : kVectors.end();
  return {.topic = std::string(topic), .vectors = {begin, end}};
}

std::string rcv1_digest(const std::vector<std::string>& digests) {
  std::string all;
  for (const std::string& digest : digests) all += digest + "\n";
  return crypto::hex_digest(crypto::DigestKind::kSha256, all);
}

std::string rcv1_digest(const Rcv1Set& set) {
  std::vector<std::string> digests{std::string(kRcv1Topics.sha256)};
  for (const Rcv1File& file : set.vectors) digests.emplace_back(file.sha256);
  return rcv1_digest(digests);
}

Rcv1Labels::Rcv1Labels(std::string_view topics, const std::string& topic) {
  constexpr std::size_t kMostTopics = 1000;
  std::set<std::string, std::less<>> names;
  for_each_line(kRcv1Topics.name, topics, [&](std::string_view line) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (std::ranges::count(line, ' ') != 2) return;   // as scikit-learn does
    const std::string_view name = line.substr(0, first);
    const auto document = whole<std::uint32_t>(line.substr(first + 1, second - first - 1));
    require(document.has_value(), ErrorCode::kDatasetCorrupt, "{}: the line '{}' is not a topic and a document",
            kRcv1Topics.name, line.substr(0, 80));
    if (!names.contains(name)) names.emplace(name);
    require(names.size() <= kMostTopics, ErrorCode::kDatasetCorrupt, "{}: more than {} topics", kRcv1Topics.name,
            kMostTopics);
    const std::uint64_t entry = std::uint64_t{*document} * 2 + (name == topic);
    if (documents_.empty() || documents_.back() / 2 != *document) documents_.push_back(entry);   // lines of one follow
    else documents_.back() |= entry;
  });
  std::ranges::sort(documents_);
  if (names.contains(topic)) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = schema::nearest_name(topic, known);
  throw schema::Error(ErrorCode::kInvalidValue,
                      fmt::format("rcv1 has no topic '{}'{}; it has {}, such as {}", topic,
                                  nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest), known.size(),
                                  known.empty() ? "none" : known.front()),
                      "dataset.url.url");
}

bool Rcv1Labels::at(std::uint32_t document) const {
  // Of two entries of one document the one with the topic comes last.
  const auto after = std::ranges::upper_bound(documents_, std::uint64_t{document} * 2 + 1);
  require(after != documents_.begin() && *(after - 1) / 2 == document, ErrorCode::kDatasetCorrupt,
          "{}: it has no topic of document {}", kRcv1Topics.name, document);
  return *(after - 1) % 2 == 1;
}

Rcv1Text::Rcv1Text(const std::filesystem::path& path, const Rcv1Labels& labels, std::int64_t most_bytes)
    : path_(path), labels_(labels), most_bytes_(most_bytes), out_(path, std::ios::binary) {}

void Rcv1Text::add(std::string_view name, std::string_view vectors) {
  for_each_line(name, vectors, [&](std::string_view line) {
    if (line.find_first_not_of(" \r") != std::string_view::npos) add_row(name, line);
  });
}

void Rcv1Text::add_row(std::string_view name, std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const auto document = whole<std::uint32_t>(line.substr(0, space));
  const std::string_view pairs = line.substr(std::min(line.find_first_not_of(' ', space), line.size()));
  const auto last = last_index(pairs);
  require(document && last && *last <= kFeatures, ErrorCode::kDatasetCorrupt,
          "{}: the line '{}' is not a document with at most {} index:value", name, line.substr(0, 80), kFeatures);
  std::string row(labels_.at(*document) ? "1 " : "0 ");
  row += pairs;
  // A zero, which is not stored, so that a table of any rows has all of the columns.
  if (written_ == 0 && *last < kFeatures) row += fmt::format(" {}:0", kFeatures);
  row += '\n';
  written_ += static_cast<std::int64_t>(row.size());
  require(written_ <= most_bytes_, ErrorCode::kInvalidValue, "{}: rcv1 inflates to more than the limit of {} bytes",
          name, most_bytes_);
  out_.write(row.data(), static_cast<std::streamsize>(row.size()));
}

void Rcv1Text::finish() {
  out_.close();
  require(out_.good(), ErrorCode::kInternal, "{}: cannot be written", engine::shown(path_));
}

}   // namespace kedge::server
