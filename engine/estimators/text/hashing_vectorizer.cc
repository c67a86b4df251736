// Hashes terms to columns, as FeatureHasher does.
#include "engine/estimators/text/hashing_vectorizer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/text/blocks.h"
#include "engine/estimators/text/tfidf.h"

namespace kedge::engine {
namespace {

using P = HashingVectorizerParams;
constexpr const char* kOwner = "HashingVectorizer";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kOwner);
    text::add_analyzer_params(made);
    made.add("n_features", &P::n_features, between(1, 2147483647.0), "Columns that terms are hashed to.")
        .add("binary", &P::binary, "Give every column that a text has the value 1.")
        .any("norm", &P::norm, {string_form({"l1", "l2"}), null_form()},
             "The norm of each row that becomes 1; null leaves rows alone.")
        .add("alternate_sign", &P::alternate_sign, "Count half of the terms downwards, so that collisions cancel out.")
        .ignore("dtype", "float64", {string_form()});
    return made;
  }();
  return set;
}

std::uint32_t rotated(std::uint32_t x, int bits) {
  return x << bits | x >> (32 - bits);
}

// Row after row of texts [first, last).
struct HashedBlock {
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  std::vector<std::int64_t> sizes;
};

}   // namespace

namespace text {

std::int32_t murmur_hash(std::string_view bytes, std::uint32_t seed) {
  constexpr std::uint32_t kFirst = 0xcc9e2d51, kSecond = 0x1b873593;
  std::uint32_t hash = seed;
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 4; p += 4, left -= 4) {
    std::uint32_t word;
    std::memcpy(&word, p, 4);
    hash = rotated(hash ^ rotated(word * kFirst, 15) * kSecond, 13) * 5 + 0xe6546b64;
  }
  std::uint32_t word = 0;
  for (std::size_t i = left; i-- > 0;) word = word << 8 | static_cast<unsigned char>(p[i]);
  if (left > 0) hash ^= rotated(word * kFirst, 15) * kSecond;
  hash ^= static_cast<std::uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6b;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return static_cast<std::int32_t>(hash ^ hash >> 16);
}

std::int32_t hashed_column(std::int32_t hash, std::int64_t n_features) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();   // which has no magnitude
  return static_cast<std::int32_t>(hash == kLowest ? (2147483647 - (n_features - 1)) % n_features
                                                   : std::abs(hash) % n_features);
}

}   // namespace text

template <class T>
HashingVectorizer<T>::HashingVectorizer(const schema::ValueMap& params)
    : params_(param_set().parse(params)), analyzer_(kOwner, params_) {}

template <class T>
schema::EstimatorInfo HashingVectorizer<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "feature_extraction",
          .doc = "Turn a column of texts into counts of its terms, in columns that a hash of the term names.",
          .params = param_set().infos(),
          .attributes = {},
          .deviations = {
              "Takes one column of texts: a column of categories, whose texts it takes apart. A missing cell is an "
              "empty text; scikit-learn refuses it.",
              "Texts are UTF-8, a byte that is not counts as U+FFFD. Values have the type of the job's table, "
              "whatever dtype says.",
              "token_pattern is RE2's: no lookahead, no lookbehind, no backreferences; \\b at the begin, or at both "
              "ends, of what matches word"
              "characters alone. preprocessor and tokenizer, which are functions, do not exist."}};
}

template <class T>
void HashingVectorizer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  text::require_texts(kOwner, X);
}

template <class T>
Samples<T> HashingVectorizer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  ctx.check_stop();
  const text::Documents documents = text::documents_of(ctx, kOwner, X);
  const std::vector<text::Block> blocks = text::blocks_of(documents.texts);
  std::vector<HashedBlock> made(blocks.size());
  const std::int64_t n_features = params_.n_features;
  text::for_blocks(blocks.size(), [&](std::size_t b, std::size_t) {
    text::Pieces pieces;
    std::vector<std::int64_t> found;   // column, times 2, and 1 for a term that counts downwards
    HashedBlock& out = made[b];
    for (std::size_t i = blocks[b].first; i < blocks[b].last; ++i) {
      found.clear();
      analyzer_.take_apart(documents.texts[i], pieces);
      analyzer_.each_ngram(pieces, [&](std::size_t first, std::size_t n) {
        const std::int32_t hash = text::murmur_hash(pieces.ngram(first, n), 0);
        const std::int64_t column = text::hashed_column(hash, n_features);
        found.push_back(2 * column + (params_.alternate_sign && hash < 0));
      });
      std::ranges::sort(found);
      const std::size_t before = out.columns.size();
      for (const std::int64_t one : found) {
        const auto column = static_cast<std::int32_t>(one / 2);
        if (out.columns.size() == before || out.columns.back() != column)
          out.columns.push_back(column), out.values.push_back(0);
        out.values.back() += one % 2 == 0 ? 1 : -1;
      }
      out.sizes.push_back(static_cast<std::int64_t>(out.columns.size() - before));
    }
  });
  text::HostRows<T> rows{.cols = n_features};
  for (const HashedBlock& block : made) {
    for (const std::int64_t size : block.sizes) rows.offsets.push_back(rows.offsets.back() + size);
    rows.columns.insert(rows.columns.end(), block.columns.begin(), block.columns.end());
    for (const double value : block.values) rows.values.push_back(static_cast<T>(params_.binary ? 1 : value));
  }
  text::scale_rows(params_.norm, rows);
  Samples<T> result = samples_of(text::of_all_rows(documents, std::move(rows)).to_device(ctx));
  result.table->is_finite = true;
  return result;
}

template <class T>
void HashingVectorizer<T>::state(StateArchive&) {}   // a hash has no state

template class HashingVectorizer<float>;
template class HashingVectorizer<double>;

}   // namespace kedge::engine
