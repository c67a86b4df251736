// All n-grams of documents as numbers: level n has the distinct n-grams of n pieces, ascending.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/word_table.h"

namespace kedge::engine::text {

// Documents as numbers of their pieces. Document i has segments first_segment[i] .. first_segment[i + 1] - 1, and
// segment s the places first_place[s] .. first_place[s + 1] - 1.
struct PieceNumbers {
  std::vector<std::string> pieces;   // the distinct ones, ascending: the number of a piece is its place here
  std::vector<std::size_t> first_segment{0}, first_place{0};
  std::vector<std::int32_t> at;   // by place
};
// Errors: kBadData for too many different ones.
PieceNumbers numbered_pieces(std::string_view owner, const Analyzer& analyzer,
                             const std::vector<std::string_view>& texts);

// The n-grams of one length.
struct Level {
  std::vector<std::int32_t> at;             // by place where an n-gram begins; -1: none does, the segment ends before
  std::vector<std::int32_t> parent, last;   // by n-gram: that of its first n - 1 pieces, and its last piece
  std::vector<char> counts;                 // whether it is a term
  std::vector<std::int32_t> column;         // of a term
  std::size_t size() const { return last.size(); }
};

// Levels 1 to analyzer.most(), with the columns of terms: ascending by text. Errors: kBadData for too many.
std::vector<Level> term_levels(std::string_view owner, const Analyzer& analyzer, const PieceNumbers& numbers);

}   // namespace kedge::engine::text
