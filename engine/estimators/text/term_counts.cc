// Counts terms by the numbers of n-grams, and leaves out those that are too rare or too frequent.
#include "engine/estimators/text/term_counts.h"

#include <algorithm>
#include <numeric>

#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "engine/estimators/text/blocks.h"
#include "engine/estimators/text/term_levels.h"
#include "engine/estimators/text/term_sort.h"

namespace kedge::engine::text {
namespace {

using schema::ErrorCode;

// The rows of one block of documents.
struct CountedBlock {
  std::vector<std::int32_t> columns, counts;
  std::vector<std::int64_t> sizes;   // by document
};

// The columns of a document's terms, one for each time that it has one.
struct FoundColumns {
  std::vector<std::int32_t> columns, spare;
};

// Whether a column is another than the one before is added, not asked: in texts it cannot be guessed.
void add_counts(FoundColumns& found, std::int64_t n_terms, bool is_binary, CountedBlock& out) {
  sort_columns(found.columns, found.spare, n_terms);
  const std::vector<std::int32_t>& all = found.columns;
  const std::size_t before = out.columns.size();
  out.columns.resize(before + all.size()), out.counts.resize(before + all.size());
  std::size_t at = before, first = 0;   // where the column lies in `out`, and in `all`
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size() || all[i + 1] != all[i];
    out.columns[at] = all[i];
    out.counts[at] = is_binary ? 1 : static_cast<std::int32_t>(i + 1 - first);
    at += is_last;
    first = is_last ? i + 1 : first;
  }
  out.columns.resize(at), out.counts.resize(at);
  out.sizes.push_back(static_cast<std::int64_t>(at - before));
}

HostRows<std::int32_t> joined(std::vector<CountedBlock>& blocks, std::int64_t cols) {
  HostRows<std::int32_t> rows{.cols = cols};
  std::vector<std::size_t> first{0};
  for (const CountedBlock& block : blocks) {
    first.push_back(first.back() + block.columns.size());
    for (const std::int64_t size : block.sizes) rows.offsets.push_back(rows.offsets.back() + size);
  }
  rows.columns.resize(first.back()), rows.values.resize(first.back());
  for_blocks(blocks.size(), [&](std::size_t b, std::size_t) {
    std::ranges::copy(blocks[b].columns, rows.columns.begin() + static_cast<std::ptrdiff_t>(first[b]));
    std::ranges::copy(blocks[b].counts, rows.values.begin() + static_cast<std::ptrdiff_t>(first[b]));
    blocks[b] = {};
  });
  return rows;
}

HostRows<std::int32_t> counts_of(const Analyzer& analyzer, const std::vector<std::string_view>& texts,
                                 const PieceNumbers& numbers, const std::vector<Level>& levels, std::int64_t n_terms,
                                 bool is_binary) {
  const std::vector<Block> blocks = blocks_of(texts);
  std::vector<CountedBlock> made(blocks.size());
  for_blocks(blocks.size(), [&](std::size_t b, std::size_t) {
    FoundColumns found;
    for (std::size_t i = blocks[b].first; i < blocks[b].last; ++i) {
      found.columns.clear();
      for (std::size_t s = numbers.first_segment[i]; s < numbers.first_segment[i + 1]; ++s) {
        const std::size_t first = numbers.first_place[s];
        analyzer.each_ngram(first, numbers.first_place[s + 1] - first, [&](std::size_t place, std::size_t n) {
          const Level& level = levels[n - 1];
          found.columns.push_back(level.column[static_cast<std::size_t>(level.at[place])]);
        });
      }
      add_counts(found, n_terms, is_binary, made[b]);
    }
  });
  return joined(made, n_terms);
}

// By column: how many rows have the term, and how often all rows have it.
struct TermFrequencies {
  std::vector<std::int64_t> rows, totals;
};

// A few threads count a part of the documents each: more would need a copy of the counts each.
TermFrequencies frequencies_of(const Documents& documents, const HostRows<std::int32_t>& counts) {
  constexpr std::size_t kMostParts = 4;
  const std::size_t n = documents.texts.size(), n_terms = static_cast<std::size_t>(counts.cols);
  std::vector<TermFrequencies> parts(kMostParts);
  const std::size_t least = std::max<std::size_t>(512, n / kMostParts);
  for_parts(
      n,
      [&](std::size_t part, std::size_t begin, std::size_t end) {
        TermFrequencies& mine = parts[part];
        mine.rows.assign(n_terms, 0), mine.totals.assign(n_terms, 0);
        for (std::size_t i = begin; i < end; ++i) {
          const auto last = static_cast<std::size_t>(counts.offsets[i + 1]);
          for (auto e = static_cast<std::size_t>(counts.offsets[i]); e < last; ++e) {
            const auto column = static_cast<std::size_t>(counts.columns[e]);
            mine.rows[column] += documents.n_rows[i];
            mine.totals[column] += documents.n_rows[i] * counts.values[e];
          }
        }
      },
      least);
  TermFrequencies sums = std::move(parts[0]);
  for (std::size_t part = 1; part < kMostParts && !parts[part].rows.empty(); ++part) {
    for (std::size_t j = 0; j < n_terms; ++j) {
      sums.rows[j] += parts[part].rows[j];
      sums.totals[j] += parts[part].totals[j];
    }
  }
  return sums;
}

// A limit as a number of rows: a share where it is no whole number.
double rows_of_limit(const schema::Value& limit, std::int64_t n_rows) {
  const auto* count = std::get_if<std::int64_t>(&limit.data);
  return count ? static_cast<double>(*count) : std::get<double>(limit.data) * static_cast<double>(n_rows);
}

// The new column of each term, or -1.
std::vector<std::int32_t> kept_columns(std::string_view owner, const TermLimits& limits, std::int64_t n_rows,
                                       const std::vector<std::int64_t>& n_rows_with,
                                       const std::vector<std::int64_t>& totals) {
  const double least = rows_of_limit(limits.min_df, n_rows), most = rows_of_limit(limits.max_df, n_rows);
  require(most >= least, ErrorCode::kBadData, "{}: max_df corresponds to fewer documents than min_df: {} and {} of {}",
          owner, most, least, n_rows);
  std::vector<std::int32_t> kept;
  for (std::size_t j = 0; j < n_rows_with.size(); ++j) {
    const auto rows = static_cast<double>(n_rows_with[j]);
    if (rows >= least && rows <= most) kept.push_back(static_cast<std::int32_t>(j));
  }
  if (limits.max_features && static_cast<std::int64_t>(kept.size()) > *limits.max_features) {
    const auto is_more_frequent = [&](std::int32_t a, std::int32_t b) {
      const std::int64_t of_a = totals[static_cast<std::size_t>(a)], of_b = totals[static_cast<std::size_t>(b)];
      return of_a != of_b ? of_a > of_b : a < b;
    };
    std::nth_element(kept.begin(), kept.begin() + *limits.max_features, kept.end(), is_more_frequent);
    kept.resize(static_cast<std::size_t>(*limits.max_features));
    std::ranges::sort(kept);
  }
  require(!kept.empty(), ErrorCode::kBadData,
          "{}: no term is left within the limits; try a lower min_df or a higher max_df", owner);
  std::vector<std::int32_t> column(n_rows_with.size(), -1);
  for (std::size_t j = 0; j < kept.size(); ++j)
    column[static_cast<std::size_t>(kept[j])] = static_cast<std::int32_t>(j);
  return column;
}

void keep_columns(const std::vector<std::int32_t>& column, std::int64_t n_kept, HostRows<std::int32_t>& rows) {
  std::int64_t out = 0, begin = 0;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const std::int64_t end = rows.offsets[static_cast<std::size_t>(i + 1)];
    for (std::int64_t e = begin; e < end; ++e) {
      const auto at = static_cast<std::size_t>(e), to = static_cast<std::size_t>(out);
      const std::int32_t kept = column[static_cast<std::size_t>(rows.columns[at])];
      if (kept < 0) continue;
      rows.columns[to] = kept, rows.values[to] = rows.values[at];
      ++out;
    }
    begin = end;
    rows.offsets[static_cast<std::size_t>(i + 1)] = out;
  }
  rows.columns.resize(static_cast<std::size_t>(out)), rows.values.resize(static_cast<std::size_t>(out));
  rows.cols = n_kept;
}

// Writes the texts of terms, each from its last piece to its first.
class TermTexts {
 public:
  TermTexts(const Analyzer& analyzer, const PieceNumbers& numbers, const std::vector<Level>& levels)
      : joint_(analyzer.has_words() ? 1 : 0), numbers_(numbers), levels_(levels) {}

  Vocabulary vocabulary(const std::vector<std::int32_t>& kept, std::size_t n_kept) const {
    std::vector<std::int64_t> ends(n_kept, 0);
    each_term(kept, [&](std::size_t column, std::size_t k, std::size_t gram) { ends[column] = size_of(k, gram); });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::string terms(ends.empty() ? 0 : static_cast<std::size_t>(ends.back()), ' ');   // the blanks of joints
    each_term(kept, [&](std::size_t column, std::size_t k, std::size_t gram) {
      write(k, gram, terms.data() + ends[column]);
    });
    return {std::move(terms), std::move(ends)};
  }

 private:
  template <class Visit>
  void each_term(const std::vector<std::int32_t>& kept, const Visit& visit) const {
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      const Level& level = levels_[k];
      check_job_stop();
      for_parts(level.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t gram = begin; gram < end; ++gram) {
          if (!level.counts[gram]) continue;
          const std::int32_t column = kept[static_cast<std::size_t>(level.column[gram])];
          if (column >= 0) visit(static_cast<std::size_t>(column), k, gram);
        }
      });
    }
  }
  std::int64_t size_of(std::size_t k, std::size_t gram) const {
    std::int64_t size = static_cast<std::int64_t>(k) * joint_;
    for (;; gram = static_cast<std::size_t>(levels_[k].parent[gram]), --k) {
      size += static_cast<std::int64_t>(piece(k, gram).size());
      if (k == 0) return size;
    }
  }
  void write(std::size_t k, std::size_t gram, char* end) const {
    for (;; gram = static_cast<std::size_t>(levels_[k].parent[gram]), --k, end -= joint_) {
      const std::string& text = piece(k, gram);
      end = std::copy_backward(text.begin(), text.end(), end);
      if (k == 0) return;
    }
  }
  const std::string& piece(std::size_t k, std::size_t gram) const {
    return numbers_.pieces[static_cast<std::size_t>(levels_[k].last[gram])];
  }

  std::int64_t joint_;
  const PieceNumbers& numbers_;
  const std::vector<Level>& levels_;
};

// Joined by blanks, n-grams are in the order of their words and differ only if no word has a blank or less.
void require_words_without_blanks(std::string_view owner, const Analyzer& analyzer, const PieceNumbers& numbers) {
  if (!analyzer.has_words() || analyzer.most() == 1) return;
  for (const std::string& word : numbers.pieces)
    require(std::ranges::none_of(word, [](char c) { return static_cast<unsigned char>(c) <= ' '; }),
            ErrorCode::kBadData,
            "{}: token_pattern finds the word '{}', which has a blank: with n-grams of words it must find none", owner,
            word);
}

}   // namespace

CountedTerms counted_terms(std::string_view owner, const Analyzer& analyzer, const Documents& documents,
                           const TermLimits& limits, bool is_binary) {
  const PieceNumbers numbers = numbered_pieces(owner, analyzer, documents.texts);
  require_words_without_blanks(owner, analyzer, numbers);
  const std::vector<Level> levels = term_levels(owner, analyzer, numbers);
  std::int64_t n_terms = 0;
  for (const Level& level : levels) n_terms += std::count(level.counts.begin(), level.counts.end(), 1);
  require(n_terms > 0, ErrorCode::kBadData, "{}: the vocabulary is empty; perhaps the texts contain stop words only",
          owner);
  CountedTerms made{.vocabulary = {},
                    .counts = counts_of(analyzer, documents.texts, numbers, levels, n_terms, is_binary),
                    .n_rows_with = {}};
  const TermFrequencies frequencies = frequencies_of(documents, made.counts);
  const auto n_rows = static_cast<std::int64_t>(documents.of_row.size());
  const std::vector<std::int32_t> kept = kept_columns(owner, limits, n_rows, frequencies.rows, frequencies.totals);
  const std::int64_t n_kept = std::ranges::count_if(kept, [](std::int32_t column) { return column >= 0; });
  if (n_kept < n_terms) keep_columns(kept, n_kept, made.counts);
  made.vocabulary = TermTexts(analyzer, numbers, levels).vocabulary(kept, static_cast<std::size_t>(n_kept));
  for (std::size_t j = 0; j < kept.size(); ++j)
    if (kept[j] >= 0) made.n_rows_with.push_back(frequencies.rows[j]);
  return made;
}

HostRows<std::int32_t> known_counts(const Analyzer& analyzer, const Documents& documents, const Vocabulary& vocabulary,
                                    bool is_binary) {
  vocabulary.prepare();
  const std::vector<Block> blocks = blocks_of(documents.texts);
  std::vector<CountedBlock> made(blocks.size());
  for_blocks(blocks.size(), [&](std::size_t b, std::size_t) {
    Pieces pieces;
    FoundColumns found;
    for (std::size_t i = blocks[b].first; i < blocks[b].last; ++i) {
      found.columns.clear();
      analyzer.take_apart(documents.texts[i], pieces);
      analyzer.each_ngram(pieces, [&](std::size_t first, std::size_t n) {
        if (const std::int32_t column = vocabulary.find(pieces.ngram(first, n)); column >= 0)
          found.columns.push_back(column);
      });
      add_counts(found, vocabulary.size(), is_binary, made[b]);
    }
  });
  return joined(made, vocabulary.size());
}

}   // namespace kedge::engine::text
