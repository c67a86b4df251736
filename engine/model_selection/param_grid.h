// The candidates of a search: grids, and draws from distributions, as ParameterGrid and ParameterSampler give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/job.h"
#include "schemas/value.h"

namespace kedge::engine {

// Parameter paths and their values, sorted by path.
using Candidate = schema::ValueMap;

// A distribution of one parameter, or the values to choose from.
struct ParamChoice {
  enum class Kind { kList, kUniform, kLoguniform, kRandint };
  std::string path;
  Kind kind = Kind::kList;
  schema::ValueList values;      // kList
  double low = 0, high = 0;      // others; randint leaves `high` out
};
using ParamSpace = std::vector<ParamChoice>;   // sorted by path

// {"path": [values ...]} or a list of such objects. With `distributions` a value may be {"uniform": [low, high]} and the like.
// Errors, from `where` on: kWrongType, kInvalidValue for an empty list, bounds in the wrong order, or no parameters at all.
std::vector<ParamSpace> parse_param_spaces(const schema::Value& value, const std::string& where, bool distributions);

// The candidates of a search, by place: a value of a grid is held once, however many candidates have it. A value.
class Candidates {
 public:
  Candidates() = default;
  explicit Candidates(std::vector<ParamSpace> spaces) : spaces_(std::move(spaces)) {}

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  Candidate operator[](std::size_t i) const;   // a copy of its values
  // The space that a candidate is of, and by parameter of this space which value it has: equal numbers, equal values.
  std::size_t space(std::size_t i) const { return rows_[i].space; }
  std::span<const std::uint64_t> picks(std::size_t i) const { return {picks_.data() + rows_[i].first, spaces_[rows_[i].space].size()}; }
  const std::vector<ParamSpace>& spaces() const { return spaces_; }

  void add(std::size_t space, std::span<const std::uint64_t> picks);

 private:
  struct Row {
    std::uint32_t space = 0;
    std::uint64_t first = 0;   // of its picks
  };
  std::vector<ParamSpace> spaces_;
  std::vector<Row> rows_;
  std::vector<std::uint64_t> picks_;   // a place in ParamChoice::values, or the bits of a number that was drawn
};

// What all candidates together may hold, written out, as cv_results_ lists them.
inline constexpr std::size_t kMostCandidateBytes = std::size_t{64} << 20;

// How many candidates a grid of parameters has, at most 100,001; of a list of grids all together. A value that is no list counts once.
std::int64_t count_candidates(const schema::Value& grid);

// Every combination, the last path (in sorted order) running fastest. Errors: kInvalidValue above 100,000 of them, at `where`, and
// above kMostCandidateBytes, at the parameter with the largest values.
Candidates grid_candidates(std::vector<ParamSpace> spaces, const std::string& where);

// n_iter candidates: without replacement from the grid where all are lists (all of it if it is smaller), otherwise
// drawn independently. The draws are those of scikit-learn for the same random_state, uniform and loguniform being
// SciPy's uniform(low, high - low) and loguniform(low, high), randint SciPy's randint(low, high). Errors: as
// grid_candidates().
Candidates sampled_candidates(std::vector<ParamSpace> spaces, std::int64_t n_iter, std::uint32_t seed, const std::string& where);

}  // namespace kedge::engine
