// The stages of exact gradient boosting: grown one after another, and shared by candidates of a search.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/boosting/gradient_loss.h"
#include "engine/estimators/boosting/gradient_params.h"

namespace kedge::engine {

// Of the sorted columns of one tree, up to which the trees of a stage may grow side by side.
inline constexpr std::int64_t kMostListBytes = std::int64_t{1} << 26;

// What a fit leaves, stage by stage. The first stages are those of a fit with fewer, to the bit.
struct GradientStages {
  std::vector<double> first;                         // raw prediction before the trees, by output
  std::vector<std::vector<Forest>> trees;            // by output, a tree for each stage
  std::vector<double> train_score;                   // by stage
  std::vector<double> oob_scores, oob_improvement;   // by stage, where stages draw rows
  std::int64_t size() const { return std::ssize(train_score); }
};

struct GradientRows {   // of one part: the fitted one, or that which is set aside
  std::int64_t n = 0;
  std::vector<float> values;   // n x n_features
  std::vector<double> y, weights, raw;
};

// Grows n_stages of them, or fewer where those set aside (`validated`) stop it. raw: of both parts, the first
// predictions; changed. The trees of a stage grow side by side where they are small or many. The same bits at any
// number of threads. Sends progress. Errors: kCancelled.
void grow_stages(const Context& ctx, const GradientParams& params, const StageLoss& loss, std::int64_t n_stages,
                 std::uint32_t seed, GradientRows& fitted, GradientRows& validated, GradientStages& stages);

}   // namespace kedge::engine
