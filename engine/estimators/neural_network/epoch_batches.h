// The batches of an epoch on devices that record steps (engine/backend/recorded_steps.h): what differs between them
// lies in the device's memory, and some tens of them start by one call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/backend/ops/batch_steps.h"
#include "engine/backend/recorded_steps.h"
#include "engine/core/array.h"
#include "engine/core/context.h"

namespace kedge::engine {

// Of n_rows rows, batch_rows at a time; the last batch has the rest. Borrows the context. The first epoch runs batch by
// batch, so that libraries have what they need; then steps are recorded, once for a fit.
class EpochBatches {
 public:
  // Without `is_wanted`, or on a device that records nothing, this is empty.
  EpochBatches(const Context& ctx, std::int64_t n_rows, std::int64_t batch_rows, bool is_wanted);

  bool empty() const { return !recorder_; }
  const BatchQueue& queue() const { return queue_; }
  VectorView<std::int32_t> rows() { return rows_.view(); }   // for those of a batch

  // All batches of an epoch. `step` starts the ops of the next batch, of so many rows, by queue() alone; it must not
  // wait for the device. Errors: those of `step`; kCancelled.
  void run(std::span<const BatchNumbers> numbers, const std::function<void(std::int64_t n_rows)>& step);

 private:
  void record(const std::function<void(std::int64_t n_rows)>& step);

  const Context& ctx_;
  StepRecorder* recorder_;
  std::int64_t n_rows_, batch_rows_, together_, epochs_ = 0;
  Array<BatchNumbers> numbers_;
  Array<std::int64_t> next_;
  Array<BatchNumbers> now_;
  Array<std::int32_t> rows_;
  BatchQueue queue_;
  std::unique_ptr<RecordedSteps> many_, rest_;   // `together_` full batches; the batches after the last of those
};

}   // namespace kedge::engine
