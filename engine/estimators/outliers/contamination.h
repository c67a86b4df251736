// The parameter contamination of outlier detectors: the share of rows that are outliers.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "engine/core/params.h"

namespace kedge::engine {

inline constexpr const char* kContaminationDoc =
    "Share of the fitted rows that are outliers; auto: the threshold of the method's authors.";

inline std::vector<schema::ParamForm> contamination_forms() {
  return {string_form({"auto"}), number_form(above_up_to(0, 0.5))};
}

// Nothing for "auto".
inline std::optional<double> contamination_share(const schema::Value& contamination) {
  const auto* const share = std::get_if<double>(&contamination.data);
  return share ? std::optional<double>(*share) : std::nullopt;
}

}   // namespace kedge::engine
