// Numbers pieces, then n-grams by those that are one piece shorter.
#include "engine/estimators/text/term_levels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "engine/estimators/text/blocks.h"
#include "engine/estimators/text/term_sort.h"

namespace kedge::engine::text {
namespace {

// What one block of documents becomes.
struct NumberedBlock {
  std::size_t worker = 0;   // whose dictionary numbers its pieces
  std::vector<std::int32_t> pieces;
  std::vector<std::uint32_t> segment_sizes, segments_of_document;
};

void take_block(const Analyzer& analyzer, const std::vector<std::string_view>& texts, Block block, Pieces& pieces,
                WordTable& words, NumberedBlock& out) {
  for (std::size_t i = block.first; i < block.last; ++i) {
    analyzer.take_apart(texts[i], pieces);
    for (std::size_t k = 0; k < pieces.size(); ++k) out.pieces.push_back(words.number_of(pieces.ngram(k, 1)));
    std::uint32_t first = 0;
    for (const std::uint32_t end : pieces.segments) out.segment_sizes.push_back(end - std::exchange(first, end));
    out.segments_of_document.push_back(static_cast<std::uint32_t>(pieces.segments.size()));
  }
}

// A word's first bytes as a number that is ordered as they are.
std::uint64_t first_bytes(std::string_view word) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | (i < word.size() ? static_cast<unsigned char>(word[i]) : 0);
  return number;
}

// Places of words, ascending by word: by their first bytes, and by all of them where those are equal.
std::vector<std::uint32_t> sorted_places(const std::vector<std::string_view>& words) {
  std::vector<std::uint64_t> keys(words.size());
  std::vector<std::uint32_t> places(words.size());
  for_parts(words.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      keys[i] = first_bytes(words[i]);
      places[i] = static_cast<std::uint32_t>(i);
    }
  });
  sort_by_key(keys, places, ~std::uint64_t{0});
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin + 1;
    while (end < keys.size() && keys[end] == keys[begin]) ++end;
    if (end - begin > 1)
      std::sort(places.begin() + static_cast<std::ptrdiff_t>(begin), places.begin() + static_cast<std::ptrdiff_t>(end),
                [&](std::uint32_t a, std::uint32_t b) { return words[a] < words[b]; });
    begin = end;
  }
  return places;
}

// The words of all dictionaries, ascending, and for each dictionary where its words are among them.
std::vector<std::string> merged(std::string_view owner, const std::vector<WordTable>& tables,
                                std::vector<std::vector<std::int32_t>>& places) {
  std::vector<std::string_view> words;
  std::vector<std::size_t> first{0};   // of each dictionary
  places.resize(tables.size());
  for (std::size_t k = 0; k < tables.size(); ++k) {
    places[k].resize(tables[k].size());
    for (std::size_t i = 0; i < tables[k].size(); ++i) words.push_back(tables[k].word(i));
    first.push_back(words.size());
  }
  require(words.size() < 0xffffffff, schema::ErrorCode::kBadData, "{}: the texts have more than {} different words",
          owner, 0xffffffffu);
  std::vector<std::string> all;
  for (const std::uint32_t place : sorted_places(words)) {
    if (all.empty() || all.back() != words[place]) all.emplace_back(words[place]);
    const auto k = static_cast<std::size_t>(std::ranges::upper_bound(first, place) - first.begin()) - 1;
    places[k][place - first[k]] = static_cast<std::int32_t>(all.size()) - 1;
  }
  return all;
}

// The n-grams of n pieces of all segments: the number of the first n - 1 and of the last piece, and the place.
struct Grams {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> places;
};

Grams grams_of(const PieceNumbers& numbers, const Level& before, std::size_t n) {
  const auto n_pieces = static_cast<std::uint64_t>(numbers.pieces.size());
  const std::size_t n_segments = numbers.first_place.size() - 1;
  std::vector<std::size_t> first(n_segments + 1, 0);   // n-grams of the segments before
  for (std::size_t s = 0; s < n_segments; ++s) {
    const std::size_t size = numbers.first_place[s + 1] - numbers.first_place[s];
    first[s + 1] = first[s] + (size < n ? 0 : size - n + 1);
  }
  Grams grams;
  grams.keys.resize(first.back()), grams.places.resize(first.back());
  constexpr std::size_t kLeastSegments = 256;   // of a thread
  for_parts(
      n_segments,
      [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t s = begin; s < end; ++s) {
          std::size_t p = numbers.first_place[s];
          for (std::size_t at = first[s]; at < first[s + 1]; ++at, ++p) {
            grams.keys[at] =
                static_cast<std::uint64_t>(before.at[p]) * n_pieces + static_cast<std::uint64_t>(numbers.at[p + n - 1]);
            grams.places[at] = static_cast<std::uint32_t>(p);
          }
        }
      },
      kLeastSegments);
  return grams;
}

// Next level: n-grams that are `before` and one more piece.
Level longer(std::string_view owner, const PieceNumbers& numbers, const Level& before, std::size_t n) {
  const auto n_pieces = static_cast<std::uint64_t>(numbers.pieces.size());
  Grams grams = grams_of(numbers, before, n);
  sort_by_key(grams.keys, grams.places, n_pieces * before.size());
  const std::vector<std::uint64_t>& keys = grams.keys;
  const auto is_new = [&](std::size_t i) { return i == 0 || keys[i] != keys[i - 1]; };
  std::vector<std::size_t> found(static_cast<std::size_t>(host_threads()) + 1, 0);   // distinct ones before each part
  for_parts(keys.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) found[part + 1] += is_new(i);
  });
  std::partial_sum(found.begin(), found.end(), found.begin());
  require(found.back() < WordTable::kMost, schema::ErrorCode::kBadData, "{}: there are more than {} n-grams", owner,
          WordTable::kMost);
  Level level{.at = std::vector<std::int32_t>(numbers.at.size(), -1),
              .parent = std::vector<std::int32_t>(found.back()),
              .last = std::vector<std::int32_t>(found.back()),
              .counts = {},
              .column = {}};
  for_parts(keys.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::size_t next = found[part];
    for (std::size_t i = begin; i < end; ++i) {
      if (is_new(i)) {
        level.parent[next] = static_cast<std::int32_t>(keys[i] / n_pieces);
        level.last[next] = static_cast<std::int32_t>(keys[i] % n_pieces);
        ++next;
      }
      level.at[grams.places[i]] = static_cast<std::int32_t>(next) - 1;
    }
  });
  return level;
}

void mark_terms(const Analyzer& analyzer, const PieceNumbers& numbers, std::vector<Level>& levels) {
  for (std::size_t k = 0; k < levels.size(); ++k)
    levels[k].counts.assign(levels[k].size(), static_cast<std::int64_t>(k) + 1 >= analyzer.least());
  if (!analyzer.counts_short(1)) return;
  for (std::size_t s = 0; s + 1 < numbers.first_place.size(); ++s) {
    const std::size_t first = numbers.first_place[s], size = numbers.first_place[s + 1] - first;
    if (size == 0 || size > levels.size() || !analyzer.counts_short(static_cast<std::int64_t>(size))) continue;
    Level& level = levels[size - 1];
    level.counts[static_cast<std::size_t>(level.at[first])] = 1;
  }
}

// A term comes before those that it begins: their order is that of a walk through the tree of n-grams.
void number_terms(std::string_view owner, std::vector<Level>& levels) {
  std::vector<std::vector<std::int64_t>> below(levels.size());   // terms in the tree under each n-gram, itself included
  for (std::size_t k = levels.size(); k-- > 0;) {
    below[k].resize(levels[k].size());
    for (std::size_t i = 0; i < levels[k].size(); ++i) below[k][i] += levels[k].counts[i];
    if (k == 0) continue;
    below[k - 1].assign(levels[k - 1].size(), 0);
    for (std::size_t i = 0; i < levels[k].size(); ++i)
      below[k - 1][static_cast<std::size_t>(levels[k].parent[i])] += below[k][i];
  }
  const std::int64_t n = std::accumulate(below[0].begin(), below[0].end(), std::int64_t{0});
  require(n < static_cast<std::int64_t>(WordTable::kMost), schema::ErrorCode::kBadData,
          "{}: there are {} terms, at most {}", owner, n, WordTable::kMost - 1);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    Level& level = levels[k];
    level.column.resize(level.size());
    std::int64_t next = 0;
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (k > 0 && (i == 0 || level.parent[i] != level.parent[i - 1])) {
        const auto parent = static_cast<std::size_t>(level.parent[i]);
        next = levels[k - 1].column[parent] + levels[k - 1].counts[parent];
      }
      level.column[i] = static_cast<std::int32_t>(next);
      next += below[k][i];
    }
  }
}

}   // namespace

PieceNumbers numbered_pieces(std::string_view owner, const Analyzer& analyzer,
                             const std::vector<std::string_view>& texts) {
  const std::vector<Block> blocks = blocks_of(texts);
  const auto n_workers = static_cast<std::size_t>(host_threads());
  std::vector<WordTable> tables(n_workers);
  std::vector<Pieces> pieces(n_workers);
  std::vector<NumberedBlock> made(blocks.size());
  for_blocks(blocks.size(), [&](std::size_t b, std::size_t worker) {
    made[b].worker = worker;
    take_block(analyzer, texts, blocks[b], pieces[worker], tables[worker], made[b]);
  });
  PieceNumbers numbers;
  std::vector<std::vector<std::int32_t>> places;
  numbers.pieces = merged(owner, tables, places);
  std::vector<std::size_t> first{0};   // place of each block
  for (const NumberedBlock& block : made) {
    first.push_back(first.back() + block.pieces.size());
    for (const std::uint32_t n : block.segments_of_document)
      numbers.first_segment.push_back(numbers.first_segment.back() + n);
    for (const std::uint32_t size : block.segment_sizes)
      numbers.first_place.push_back(numbers.first_place.back() + size);
  }
  numbers.at.resize(first.back());
  for_blocks(made.size(), [&](std::size_t b, std::size_t) {
    const std::vector<std::int32_t>& place_of = places[made[b].worker];
    for (std::size_t i = 0; i < made[b].pieces.size(); ++i)
      numbers.at[first[b] + i] = place_of[static_cast<std::size_t>(made[b].pieces[i])];
    made[b] = {};
  });
  return numbers;
}

std::vector<Level> term_levels(std::string_view owner, const Analyzer& analyzer, const PieceNumbers& numbers) {
  require(numbers.at.size() < 0xffffffff, schema::ErrorCode::kBadData,
          "{}: the texts have {} words or characters, at most {}", owner, numbers.at.size(), 0xffffffffu);
  std::vector<Level> levels(1);
  levels[0].at = numbers.at;
  levels[0].parent.assign(numbers.pieces.size(), 0);
  levels[0].last.resize(numbers.pieces.size());
  std::iota(levels[0].last.begin(), levels[0].last.end(), 0);
  for (std::int64_t n = 2; n <= analyzer.most() && levels.back().size() > 0; ++n) {
    check_job_stop();
    levels.push_back(longer(owner, numbers, levels.back(), static_cast<std::size_t>(n)));
  }
  if (levels.size() > 1 && levels.back().size() == 0) levels.pop_back();
  mark_terms(analyzer, numbers, levels);
  number_terms(owner, levels);
  return levels;
}

}   // namespace kedge::engine::text
