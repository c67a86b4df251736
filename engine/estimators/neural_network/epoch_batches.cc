// See epoch_batches.h.
#include "engine/estimators/neural_network/epoch_batches.h"

#include <algorithm>
#include <utility>

namespace kedge::engine {
namespace {

// Batches that one call starts: enough that the call costs nothing beside them, and so few that they are recorded in
// about the time of an epoch's start, and that a job that is to stop does not start too many.
constexpr std::int64_t kMostTogether = 32;

}   // namespace

EpochBatches::EpochBatches(const Context& ctx, std::int64_t n_rows, std::int64_t batch_rows, bool is_wanted)
    : ctx_(ctx),
      recorder_(is_wanted ? step_recorder(ctx.device) : nullptr),
      n_rows_(n_rows),
      batch_rows_(batch_rows),
      together_(std::min(kMostTogether, n_rows / batch_rows)) {
  if (!recorder_) return;
  numbers_ = Array<BatchNumbers>(ctx.memory(), (n_rows + batch_rows - 1) / batch_rows);
  next_ = Array<std::int64_t>(ctx.memory(), 1);
  now_ = Array<BatchNumbers>(ctx.memory(), 1);
  rows_ = Array<std::int32_t>(ctx.memory(), batch_rows);
  queue_ = {std::as_const(numbers_).view(), next_.view(), now_.view()};
}

void EpochBatches::record(const std::function<void(std::int64_t n_rows)>& step) {
  many_ = recorder_->record([&] {
    for (std::int64_t b = 0; b < together_; ++b) step(batch_rows_);
  });
  const std::int64_t begun = n_rows_ / batch_rows_ / together_ * together_ * batch_rows_;
  if (!many_ || begun == n_rows_) return;
  rest_ = recorder_->record([&] {
    for (std::int64_t first = begun; first < n_rows_; first += batch_rows_)
      step(std::min(batch_rows_, n_rows_ - first));
  });
  if (!rest_) many_.reset();
}

void EpochBatches::run(std::span<const BatchNumbers> numbers, const std::function<void(std::int64_t n_rows)>& step) {
  ctx_.memory().to_device(numbers_.data(), numbers.data(), numbers.size_bytes());
  next_.zero();
  if (++epochs_ == 2) record(step);
  if (!many_) {
    for (std::int64_t first = 0; first < n_rows_; first += batch_rows_) {
      ctx_.check_stop();
      step(std::min(batch_rows_, n_rows_ - first));
    }
    return;
  }
  for (std::int64_t b = together_; b <= n_rows_ / batch_rows_; b += together_) {
    ctx_.check_stop();
    many_->run();
  }
  ctx_.check_stop();
  if (rest_) rest_->run();
}

}   // namespace kedge::engine
