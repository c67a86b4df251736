// What ranks tell each other of the fits that they share: scores, failures and warnings, in the order of one process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/bytes.h"
#include "engine/core/context.h"
#include "engine/estimators/dealt_lines.h"
#include "engine/model_selection/cross_validate.h"
#include "engine/model_selection/scored_rows.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {

// One pipeline on one fold.
struct DealtScore {
  FoldScores scores;
  std::optional<schema::Error> failure = {};   // that was scored instead of thrown
  ScoredRows rows = {};
};

// Collects a rank's scores, and the log lines of the fits before each.
class DealtWriter {
 public:
  explicit DealtWriter(const Context& ctx) : lines_(ctx) {}   // borrows it

  const Context& context() const { return lines_.context(); }   // for the fits: what they say is kept
  void add(const DealtScore& score);
  std::vector<std::byte> take() { return out_.take(); }

 private:
  KeptLines lines_;   // since the last score
  ByteWriter out_;
};

// The scores that a rank has collected; its log lines go to `ctx`. Errors: kInternal for bytes that are none.
std::vector<DealtScore> dealt_scores(const Context& ctx, std::span<const std::byte> share);

void append_rows(const ScoredRows& more, ScoredRows& rows);

// What a fit on the fold costs beside other candidates and folds, as far as rows and numbers of trees and iterations
// say so.
double predicted_cost(const SharedSteps& steps, const Split& split);

}   // namespace kedge::engine
