// Each stage's trees follow the slopes of the loss, and their leaves take its best steps.
#include "engine/estimators/boosting/gradient_stages.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "engine/backend/host/step_team.h"
#include "engine/core/legacy_random.h"
#include "engine/estimators/boosting/stage_grower.h"
#include "engine/estimators/trees/tree_trim.h"

namespace kedge::engine {
namespace {

constexpr std::uint64_t kLargestSeed = 0x7ffffffe;   // of a tree
constexpr std::int64_t kRowsOfPiece = 512;
constexpr std::int64_t kFewCells = 1 << 17;   // of a table: threads do not help one tree much
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

// Exactly `wanted` of n rows.
std::vector<std::uint8_t> draw_mask(std::int64_t n, std::int64_t wanted, LegacyRandom& random) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n), 0);
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(random.uniform() * static_cast<double>(n - i) < static_cast<double>(wanted - drawn))) continue;
    mask[static_cast<std::size_t>(i)] = 1;
    ++drawn;
  }
  return mask;
}

// Rows of each leaf, of those that the stage has drawn.
std::vector<std::vector<std::uint32_t>> members_of(const Forest& tree, std::span<const std::int32_t> leaves,
                                                   std::span<const std::uint8_t> mask) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(tree.n_nodes()));
  for (const std::int32_t leaf : leaves) ++counts[static_cast<std::size_t>(leaf)];
  std::vector<std::vector<std::uint32_t>> members(counts.size());
  for (std::size_t node = 0; node < counts.size(); ++node) members[node].reserve(counts[node]);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (mask.empty() || mask[i]) members[static_cast<std::size_t>(leaves[i])].push_back(static_cast<std::uint32_t>(i));
  return members;
}

// The weighted mean over the rows where `mask` equals `wanted`; an empty mask: all.
double mean_of(std::span<const double> losses, std::span<const double> weights, std::span<const std::uint8_t> mask,
               bool wanted) {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!mask.empty() && (mask[i] != 0) != wanted) continue;
    sum += weights[i] * losses[i], weight += weights[i];
  }
  return sum / weight;
}

class Growth {
 public:
  Growth(const GradientParams& params, const StageLoss& loss, StepTeam& team, GradientRows& fitted,
         GradientRows& validated, std::uint32_t seed)
      : params_(params),
        loss_(loss),
        team_(team),
        fitted_(fitted),
        validated_(validated),
        n_features_(std::ssize(fitted.values) / fitted.n),
        columns_(fitted.values, fitted.n, n_features_, &team),
        random_(seed),
        slopes_(fitted.raw.size()),
        leaves_(fitted.raw.size()),
        losses_(fitted.y.size()),
        history_(static_cast<std::size_t>(params.n_iter_no_change.value_or(0)),
                 std::numeric_limits<double>::infinity()) {
    const std::int64_t cells = fitted.n * n_features_, list_bytes = 8 * fitted.n * columns_.n_listed;
    is_side_by_side_ =
        loss.n_outputs > 1 && list_bytes <= kMostListBytes && (cells < kFewCells || loss.n_outputs >= team.size());
    for (int worker = 0; worker < (is_side_by_side_ ? team.size() : 1); ++worker)
      growers_.push_back(std::make_unique<StageGrower>(columns_, is_side_by_side_ ? nullptr : &team));
  }

  // Whether it is the last one.
  bool add_stage(GradientStages& stages) {
    const bool draws = params_.subsample < 1;
    const std::int64_t wanted =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(params_.subsample * static_cast<double>(fitted_.n)));
    mask_ = draws ? draw_mask(fitted_.n, wanted, random_) : std::vector<std::uint8_t>();
    if (draws && stages.size() == 0) {
      find_losses(fitted_);
      before_ = mean_of(losses_, fitted_.weights, mask_, false);
    }
    loss_.set_delta(fitted_.y, fitted_.raw, fitted_.weights);
    grow_trees(stages);
    find_losses(fitted_);
    stages.train_score.push_back(mean_of(losses_, fitted_.weights, mask_, true));
    if (draws) {
      stages.oob_scores.push_back(mean_of(losses_, fitted_.weights, mask_, false));
      stages.oob_improvement.push_back(before_ - stages.oob_scores.back());
      before_ = stages.oob_scores.back();
    }
    return !history_.empty() && is_enough(stages);
  }

 private:
  // work(begin, end) for pieces of n rows.
  template <class Work>
  static void by_rows(StepTeam* team, std::int64_t n, const Work& work) {
    in_pieces(team, (n + kRowsOfPiece - 1) / kRowsOfPiece,
              [&](std::int64_t piece, int) { work(piece * kRowsOfPiece, std::min(n, (piece + 1) * kRowsOfPiece)); });
  }

  void find_losses(const GradientRows& rows) {
    losses_.resize(rows.y.size());
    by_rows(&team_, rows.n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        losses_[static_cast<std::size_t>(i)] = loss_.row_loss(static_cast<std::size_t>(i), rows.y, rows.raw);
    });
  }

  // On the slopes as they are before the stage.
  void grow_trees(GradientStages& stages) {
    by_rows(&team_, fitted_.n, [&](std::int64_t begin, std::int64_t end) {
      loss_.negative_gradient(fitted_.y, fitted_.raw, begin, end, slopes_);
    });
    weights_ = fitted_.weights;
    for (std::size_t i = 0; i < mask_.size(); ++i) weights_[i] *= mask_[i];
    const StageRules rules =
        params_.rules(fitted_.n, n_features_, std::accumulate(weights_.begin(), weights_.end(), 0.0));
    std::vector<std::uint32_t> seeds;
    for (std::int64_t k = 0; k < loss_.n_outputs; ++k)
      seeds.push_back(static_cast<std::uint32_t>(random_.interval(kLargestSeed)));
    std::vector<Forest> trees(seeds.size());
    in_pieces(is_side_by_side_ ? &team_ : nullptr, loss_.n_outputs, [&](std::int64_t k, int worker) {
      const auto at = static_cast<std::size_t>(k);
      trees[at] = growers_[static_cast<std::size_t>(worker)]->grow(of_output<const double>(slopes_, k), weights_, rules,
                                                                   seeds[at]);
      finish(k, trees[at]);
    });
    for (std::size_t k = 0; k < trees.size(); ++k) stages.trees[k].push_back(std::move(trees[k]));
  }

  // Prunes the tree, sets its leaves and adds them to the raw predictions, which no other output reads.
  void finish(std::int64_t k, Forest& tree) {
    StepTeam* const team = is_side_by_side_ ? nullptr : &team_;
    if (params_.ccp_alpha > 0) tree = pruned(tree, params_.ccp_alpha);
    const std::span<std::int32_t> leaves = of_output<std::int32_t>(leaves_, k);
    find_leaves(tree, fitted_, team, leaves);
    if (loss_.kind != GradientLoss::kSquared) {
      const auto members = members_of(tree, leaves, mask_);
      for (std::size_t node = 0; node < members.size(); ++node)
        if (tree.feature[node] < 0 && !members[node].empty())
          tree.mean[node] = loss_.leaf_value(k, members[node], fitted_.y, fitted_.raw, slopes_, weights_);
    }
    add(tree, leaves, k, fitted_);
  }

  void find_leaves(const Forest& tree, const GradientRows& rows, StepTeam* team, std::span<std::int32_t> leaves) const {
    by_rows(team, rows.n, [&](std::int64_t begin, std::int64_t end) {
      const auto values = std::span(rows.values)
                              .subspan(static_cast<std::size_t>(begin * n_features_),
                                       static_cast<std::size_t>((end - begin) * n_features_));
      put_leaves(tree, values, leaves.subspan(static_cast<std::size_t>(begin)));
    });
  }

  void add(const Forest& tree, std::span<const std::int32_t> leaves, std::int64_t k, GradientRows& rows) const {
    double* const raw = rows.raw.data() + k * rows.n;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.n); ++i)
      raw[i] += params_.learning_rate * tree.mean[static_cast<std::size_t>(leaves[i])];
  }

  // Whether the rows set aside have not improved for a while.
  bool is_enough(const GradientStages& stages) {
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(validated_.n));
    for (std::int64_t k = 0; k < loss_.n_outputs; ++k) {
      const Forest& tree = stages.trees[static_cast<std::size_t>(k)].back();
      find_leaves(tree, validated_, &team_, leaves);
      add(tree, leaves, k, validated_);
    }
    find_losses(validated_);
    const double own = mean_of(losses_, validated_.weights, {}, true);
    if (std::ranges::none_of(history_, [&](double past) { return own + params_.tol < past; })) return true;
    history_[static_cast<std::size_t>(stages.size() - 1) % history_.size()] = own;
    return false;
  }

  template <class V, class All>
  std::span<V> of_output(All& all, std::int64_t k) const {
    return {all.data() + k * fitted_.n, static_cast<std::size_t>(fitted_.n)};
  }

  const GradientParams& params_;
  StageLoss loss_;
  StepTeam& team_;
  GradientRows &fitted_, &validated_;
  std::int64_t n_features_;
  StageColumns columns_;
  LegacyRandom random_;
  bool is_side_by_side_ = false;
  std::vector<std::unique_ptr<StageGrower>> growers_;   // of each worker, or one
  std::vector<std::uint8_t> mask_;                      // rows that the stage has drawn; empty: all
  std::vector<double> slopes_, weights_;
  std::vector<std::int32_t> leaves_;   // of the stage's trees, output after output
  std::vector<double> losses_, history_;
  double before_ = 0;   // the loss of the rows that are not drawn
};

}   // namespace

void grow_stages(const Context& ctx, const GradientParams& params, const StageLoss& loss, std::int64_t n_stages,
                 std::uint32_t seed, GradientRows& fitted, GradientRows& validated, GradientStages& stages) {
  stages.trees.resize(static_cast<std::size_t>(loss.n_outputs));
  with_step_team([&](StepTeam& team) {
    Growth growth(params, loss, team, fitted, validated, seed);
    auto told = std::chrono::steady_clock::now();
    for (bool is_last = false; stages.size() < n_stages && !is_last;) {
      ctx.check_stop();
      is_last = growth.add_stage(stages);
      const auto now = std::chrono::steady_clock::now();
      if (stages.size() < n_stages && !is_last && now - told < kProgressEvery) continue;
      told = now;
      ctx.progress("trees", stages.size(), n_stages, "stages");
    }
  });
}

}   // namespace kedge::engine
