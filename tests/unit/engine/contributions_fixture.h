// What the tests of contributions share: fitted models, and trees drawn at random.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "engine/estimators/contributions.h"
#include "engine/model/stored_model.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/builtin_data.h"
#include "tests/unit/engine/golden_cases.h"

namespace kedge::engine::testing_trees {

inline std::vector<double> numbers(const schema::Value& list) {
  std::vector<double> result;
  for (const schema::Value& item : std::get<schema::ValueList>(list.data)) result.push_back(number(item));
  return result;
}

inline std::unique_ptr<StoredModel> fitted(const Context& ctx, const schema::JobSpec& spec,
                                           const std::filesystem::path& folder) {
  RunFiles files{.model_file = folder / "model"};
  Pipeline::build(spec).run(ctx, builtin(std::get<schema::BuiltinRef>(spec.dataset.source).name), {}, &files);
  return StoredModel::load(ctx, files.model_file);
}

struct Game {
  ShapTrees trees;
  std::vector<double> threshold;
};

// As tree_contributions(), by cuts at these thresholds.
inline std::vector<double> threshold_contributions(ShapTrees trees, const std::vector<double>& threshold,
                                                   const AskedCells& asked) {
  trees.cuts.threshold = threshold;
  return tree_contributions(trees, asked);
}

// A random tree of this depth; columns repeat on its paths.
inline void grow(Game& game, std::mt19937& random, int depth, double cover) {
  ShapTrees& trees = game.trees;
  const auto node = trees.feature.size();
  const bool is_leaf = depth == 0 || random() % 5 == 0;
  trees.feature.push_back(is_leaf ? -1
                                  : static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(trees.n_cols)));
  game.threshold.push_back(static_cast<double>(random() % 1000) / 1000), trees.cover.push_back(cover);
  trees.left.push_back(0), trees.right.push_back(0);
  for (std::int32_t k = 0; k < trees.n_outputs; ++k)
    trees.value.push_back(static_cast<double>(random() % 2000) / 1000 - 1);
  if (is_leaf) return;
  const double share = 0.1 + 0.8 * static_cast<double>(random() % 1000) / 1000;
  trees.left[node] = static_cast<std::int32_t>(trees.feature.size());
  grow(game, random, depth - 1, cover * share);
  trees.right[node] = static_cast<std::int32_t>(trees.feature.size());
  grow(game, random, depth - 1, cover * (1 - share));
}

}   // namespace kedge::engine::testing_trees
