// Spreads grids out and draws from distributions.
#include "engine/model_selection/param_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/core/value_size.h"
#include "engine/faults/fail_point.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr std::int64_t kMaxCandidates = 100000;

[[noreturn]] void refuse(const std::string& where, const std::string& message, ErrorCode code = ErrorCode::kInvalidValue) {
  throw Error(code, message, where);
}

ParamChoice distribution(const std::string& path, const ValueMap& map, const std::string& where) {
  const std::string kinds = "must be a list of values or one of uniform, loguniform and randint with [low, high]";
  if (map.size() != 1) refuse(where, fmt::format("{} is {}, {}", path, schema::to_string(map), kinds));
  const auto& [name, bounds] = map.front();
  ParamChoice choice{.path = path};
  if (name == "uniform") choice.kind = ParamChoice::Kind::kUniform;
  else if (name == "loguniform") choice.kind = ParamChoice::Kind::kLoguniform;
  else if (name == "randint") choice.kind = ParamChoice::Kind::kRandint;
  else refuse(where, fmt::format("{} has an unknown distribution '{}', {}", path, name, kinds));
  const auto numbers = numbers_of(bounds);
  if (!numbers || numbers->size() != 2) refuse(where + "." + name, fmt::format("{} is {}, must be [low, high]", name, schema::to_string(bounds)));
  choice.low = numbers->front(), choice.high = numbers->back();
  if (!(choice.low < choice.high) || !std::isfinite(choice.high - choice.low)) {
    refuse(where + "." + name, fmt::format("low is {}, must be less than high, {}", choice.low, choice.high));
  }
  if (choice.kind == ParamChoice::Kind::kLoguniform && choice.low <= 0) {
    refuse(where + "." + name, fmt::format("low is {}, must be greater than 0", choice.low));
  }
  const bool whole = choice.low == std::floor(choice.low) && choice.high == std::floor(choice.high);
  if (choice.kind == ParamChoice::Kind::kRandint && (!whole || choice.high - choice.low > 4294967295.0 || std::abs(choice.low) > 9e15)) {
    refuse(where + "." + name, fmt::format("bounds are {} and {}, must be whole numbers at most 4294967295 apart", choice.low, choice.high));
  }
  return choice;
}

ParamChoice parse_choice(const std::string& path, const Value& value, const std::string& where, bool distributions) {
  if (const auto* map = std::get_if<ValueMap>(&value.data); map && distributions) return distribution(path, *map, where);
  ParamChoice choice{.path = path};
  if (const auto* list = std::get_if<ValueList>(&value.data)) choice.values = *list;
  else if (const auto* numbers = std::get_if<std::vector<double>>(&value.data)) choice.values.assign(numbers->begin(), numbers->end());
  else refuse(where, fmt::format("{} is {}, must be a list of values", path, schema::to_string(value)), ErrorCode::kWrongType);
  if (choice.values.empty()) refuse(where, fmt::format("{} is an empty list, must have at least one value", path));
  return choice;
}

ParamSpace parse_space(const Value& value, const std::string& where, bool distributions) {
  const auto* map = std::get_if<ValueMap>(&value.data);
  if (!map) refuse(where, fmt::format("a grid is {}, must be an object of parameter paths", schema::to_string(value)), ErrorCode::kWrongType);
  ParamSpace space;
  for (const auto& [path, values] : *map) space.push_back(parse_choice(path, values, where + "." + path, distributions));
  std::sort(space.begin(), space.end(), [](const ParamChoice& a, const ParamChoice& b) { return a.path < b.path; });
  return space;
}

std::int64_t grid_size(const ParamSpace& space) {
  std::int64_t size = 1;
  for (const ParamChoice& choice : space) size = std::min(kMaxCandidates + 1, size * static_cast<std::int64_t>(choice.values.size()));
  return size;
}

std::int64_t grid_size(const std::vector<ParamSpace>& spaces) {
  std::int64_t size = 0;
  for (const ParamSpace& space : spaces) size = std::min(kMaxCandidates + 1, size + grid_size(space));
  return size;
}

// The picks of the candidate at a position of one grid.
std::vector<std::uint64_t> picks_at(const ParamSpace& space, std::int64_t position) {
  std::vector<std::uint64_t> picks(space.size());
  for (std::size_t i = space.size(); i-- > 0;) {
    const auto n = static_cast<std::int64_t>(space[i].values.size());
    picks[i] = static_cast<std::uint64_t>(position % n);
    position /= n;
  }
  return picks;
}

// Adds candidates for as long as what they hold keeps its bound.
class BoundedCandidates {
 public:
  BoundedCandidates(std::vector<ParamSpace> spaces, const std::string& where) : candidates_(std::move(spaces)), where_(where) {
    for (const ParamSpace& space : candidates_.spaces()) {
      std::vector<std::vector<std::size_t>>& costs = costs_.emplace_back();
      for (const ParamChoice& choice : space) {
        costs.emplace_back();
        for (const Value& value : choice.values) costs.back().push_back(held_bytes(value));
      }
    }
  }

  void add(std::size_t space, const std::vector<std::uint64_t>& picks) {
    const ParamSpace& choices = candidates_.spaces()[space];
    for (std::size_t k = 0; k < picks.size(); ++k) {
      const bool is_list = choices[k].kind == ParamChoice::Kind::kList;
      held_ += choices[k].path.size() + sizeof(std::string) + (is_list ? costs_[space][k][picks[k]] : sizeof(Value));
    }
    if (held_ > kMostCandidateBytes && !KEDGE_CONTROL("unbounded-checks")) refuse_size();
    candidates_.add(space, picks);
  }

  const std::vector<ParamSpace>& spaces() const { return candidates_.spaces(); }
  Candidates take() { return std::move(candidates_); }

 private:
  [[noreturn]] void refuse_size() const {
    std::string path;
    std::size_t most = 0;
    for (std::size_t s = 0; s < costs_.size(); ++s) {
      for (std::size_t k = 0; k < costs_[s].size(); ++k) {
        for (const std::size_t cost : costs_[s][k])
          if (cost > most) most = cost, path = spaces()[s][k].path;
      }
    }
    refuse(where_ + (path.empty() ? "" : "." + path),
           fmt::format("the first {} candidates hold {} MiB of parameters, all may hold at most {} MiB: take fewer candidates or "
                       "shorter values{}",
                       candidates_.size() + 1, held_ >> 20, kMostCandidateBytes >> 20,
                       path.empty() ? "" : fmt::format("; '{}' has one of {} bytes", path, most)));
  }

  Candidates candidates_;
  const std::string& where_;
  std::vector<std::vector<std::vector<std::size_t>>> costs_;   // by space, parameter and value
  std::size_t held_ = 0;
};

// sample_without_replacement(n, count): its three methods, by the share that is drawn.
std::vector<std::int64_t> draw_positions(std::int64_t n, std::int64_t count, LegacyRandom& random) {
  const double ratio = n ? static_cast<double>(count) / static_cast<double>(n) : 1.0;
  std::vector<std::int64_t> drawn;
  if (ratio > 0.01 && ratio < 0.99) {
    drawn = random.permutation(n);
    drawn.resize(static_cast<std::size_t>(count));
  } else if (ratio < 0.2) {
    std::set<std::int64_t> taken;
    while (static_cast<std::int64_t>(drawn.size()) < count) {
      const auto position = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1)));
      if (taken.insert(position).second) drawn.push_back(position);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) drawn.push_back(i);
    for (std::int64_t i = count; i < n; ++i) {
      const std::uint64_t j = random.interval(static_cast<std::uint64_t>(i));
      if (j < static_cast<std::uint64_t>(count)) drawn[static_cast<std::size_t>(j)] = i;
    }
  }
  return drawn;
}

std::uint64_t draw(const ParamChoice& choice, LegacyRandom& random) {
  switch (choice.kind) {
    case ParamChoice::Kind::kUniform:
      return std::bit_cast<std::uint64_t>(random.uniform() * (choice.high - choice.low) + choice.low);
    case ParamChoice::Kind::kLoguniform:
      return std::bit_cast<std::uint64_t>(std::exp(std::log(choice.low) + random.uniform() * (std::log(choice.high) - std::log(choice.low))));
    case ParamChoice::Kind::kRandint:
      return std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(choice.low) +
                                          static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(choice.high - choice.low) - 1)));
    case ParamChoice::Kind::kList:
      break;
  }
  return random.interval(choice.values.size() - 1);
}

Value value_of(const ParamChoice& choice, std::uint64_t pick) {
  if (choice.kind == ParamChoice::Kind::kList) return choice.values[pick];
  if (choice.kind == ParamChoice::Kind::kRandint) return std::bit_cast<std::int64_t>(pick);
  return std::bit_cast<double>(pick);
}

bool is_grid(const std::vector<ParamSpace>& spaces) {
  for (const ParamSpace& space : spaces)
    for (const ParamChoice& choice : space)
      if (choice.kind != ParamChoice::Kind::kList) return false;
  return true;
}

}  // namespace

std::vector<ParamSpace> parse_param_spaces(const Value& value, const std::string& where, bool distributions) {
  std::vector<ParamSpace> spaces;
  if (const auto* list = std::get_if<ValueList>(&value.data)) {
    for (std::size_t i = 0; i < list->size(); ++i) spaces.push_back(parse_space((*list)[i], fmt::format("{}[{}]", where, i), distributions));
  } else {
    spaces.push_back(parse_space(value, where, distributions));
  }
  if (spaces.empty()) refuse(where, "the list of grids is empty, must have at least one");
  return spaces;
}

Candidate Candidates::operator[](std::size_t i) const {
  const ParamSpace& choices = spaces_[rows_[i].space];
  const std::span<const std::uint64_t> chosen = picks(i);
  Candidate candidate;
  candidate.reserve(choices.size());
  for (std::size_t k = 0; k < choices.size(); ++k) candidate.emplace_back(choices[k].path, value_of(choices[k], chosen[k]));
  return candidate;
}

void Candidates::add(std::size_t space, std::span<const std::uint64_t> picks) {
  rows_.push_back({static_cast<std::uint32_t>(space), picks_.size()});
  picks_.insert(picks_.end(), picks.begin(), picks.end());
}

std::int64_t count_candidates(const Value& grid) {
  std::int64_t count = 0;
  if (const auto* list = std::get_if<ValueList>(&grid.data)) {
    for (const Value& space : *list) count = std::min(kMaxCandidates + 1, count + count_candidates(space));
  } else if (const auto* map = std::get_if<ValueMap>(&grid.data)) {
    count = 1;
    for (const auto& [path, value] : *map) {
      const auto* values = std::get_if<ValueList>(&value.data);
      const auto* numbers = std::get_if<std::vector<double>>(&value.data);
      const std::size_t n = values ? values->size() : numbers ? numbers->size() : 1;
      count = std::min(kMaxCandidates + 1, count * static_cast<std::int64_t>(n));
    }
  }
  return count;
}

Candidates grid_candidates(std::vector<ParamSpace> spaces, const std::string& where) {
  if (grid_size(spaces) > kMaxCandidates) refuse(where, fmt::format("the grid has more than {} candidates", kMaxCandidates));
  BoundedCandidates candidates(std::move(spaces), where);
  for (std::size_t s = 0; s < candidates.spaces().size(); ++s) {
    const ParamSpace& space = candidates.spaces()[s];
    for (std::int64_t i = 0, n = grid_size(space); i < n; ++i) candidates.add(s, picks_at(space, i));
  }
  return candidates.take();
}

Candidates sampled_candidates(std::vector<ParamSpace> spaces, std::int64_t n_iter, std::uint32_t seed, const std::string& where) {
  LegacyRandom random(seed);
  if (is_grid(spaces)) {
    const std::int64_t n = grid_size(spaces);
    if (n > kMaxCandidates) refuse(where, fmt::format("the grid has more than {} candidates", kMaxCandidates));
    BoundedCandidates drawn(std::move(spaces), where);
    std::vector<std::int64_t> first;   // position of each space's first candidate
    std::int64_t end = 0;
    for (const ParamSpace& space : drawn.spaces()) first.push_back(end), end += grid_size(space);
    for (const std::int64_t position : draw_positions(n, std::min(n, n_iter), random)) {
      const auto s = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), position) - first.begin() - 1);
      drawn.add(s, picks_at(drawn.spaces()[s], position - first[s]));
    }
    return drawn.take();
  }
  BoundedCandidates drawn(std::move(spaces), where);
  for (std::int64_t i = 0; i < n_iter; ++i) {
    const auto s = static_cast<std::size_t>(random.interval(drawn.spaces().size() - 1));
    std::vector<std::uint64_t> picks;
    for (const ParamChoice& choice : drawn.spaces()[s]) picks.push_back(draw(choice, random));
    drawn.add(s, picks);
  }
  return drawn.take();
}

}  // namespace kedge::engine
