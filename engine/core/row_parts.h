// Rows in two random parts, as scikit-learn's ShuffleSplit and StratifiedShuffleSplit draw them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/legacy_random.h"

namespace kedge::engine {

struct RowParts {
  std::vector<std::int32_t> train, test;   // in drawn order
};

// Rows of each class that occurs, ascending.
using ClassMembers = std::vector<std::vector<std::int32_t>>;
ClassMembers class_members(std::span<const std::int32_t> codes, std::int32_t n_classes);

RowParts draw_parts(std::int64_t n_samples, std::int64_t train, std::int64_t test, LegacyRandom& random);
// With the classes in equal shares. Errors: kBadData when a class has one member or a part is smaller than the number
// of classes.
RowParts draw_stratified_parts(const ClassMembers& members, std::int64_t train, std::int64_t test,
                               LegacyRandom& random);

}   // namespace kedge::engine
