// The candidates of a search: grids, and draws from distributions, as ParameterGrid and ParameterSampler give them.
#pragma once

#include <cstdint>
#include <string>
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

// Every combination, the last path (in sorted order) running fastest. Errors: kInvalidValue above 100,000 of them, at `where`.
std::vector<Candidate> grid_candidates(const std::vector<ParamSpace>& spaces, const std::string& where);

// n_iter candidates: without replacement from the grid where all are lists (all of it if it is smaller), else drawn
// independently. The draws are those of scikit-learn for the same random_state, uniform and loguniform being SciPy's
// uniform(low, high - low) and loguniform(low, high), randint SciPy's randint(low, high).
std::vector<Candidate> sampled_candidates(const std::vector<ParamSpace>& spaces, std::int64_t n_iter, std::uint32_t seed,
                                          const std::string& where);

}  // namespace kedge::engine
