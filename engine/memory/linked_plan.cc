// See linked_plan.h.
#include "engine/memory/linked_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/backend/linked_tables.h"
#include "engine/core/process_memory.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kShare = 8;   // arrays of less than one part of so many of the table stay on the GPU

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}   // namespace

std::int64_t link_tables(const Context& ctx, const MemoryInputs& inputs, MemoryPlan& plan) {
  if (inputs.meta.is_sparse() || inputs.has_table || inputs.ranks || !linked_tables(ctx.device) ||
      !is_checked(ctx, plan))
    return 0;
  const std::int64_t free = memory_for_job(ctx);
  if (free == 0 || plan.peak_bytes <= free) return 0;
  const std::int64_t table =
      inputs.selection.n_rows * inputs.selection.n_cols() * (inputs.selection.is_float32 ? 4 : 8);
  MemoryInputs linked_inputs = inputs;
  linked_inputs.linked_from = std::max<std::int64_t>(1, table / kShare);
  MemoryPlan linked = plan_memory(linked_inputs);
  if (plan.needed_bytes <= free && linked.linked_bytes <= free) return 0;
  if (linked.needed_bytes > free)
    throw schema::Error(
        schema::ErrorCode::kOutOfMemory,
        fmt::format("{} needs at least {} of memory at the peak of this job, also with the table ({}) in host memory; "
                    "this GPU has {} free",
                    linked.step, in_mib(linked.needed_bytes), in_mib(table), in_mib(free)),
        linked.where);
  const std::int64_t host = available_memory();
  if (host > 0 && linked.linked_bytes + kOfProcess > host)
    throw schema::Error(
        schema::ErrorCode::kOutOfMemory,
        fmt::format(
            "the table ({}) does not fit this GPU's {} free, and host memory, from which the GPU could read it, "
            "has {} of the {} that it takes with what is made of it",
            in_mib(table), in_mib(free), in_mib(host), in_mib(linked.linked_bytes + kOfProcess)),
        "select.rows");
  ctx.warn(
      fmt::format("the table ({}) does not fit this GPU's {} free; it stays in host memory and is read over the "
                  "link, which takes longer",
                  in_mib(table), in_mib(free)));
  linked.columns = std::move(plan.columns);
  plan = std::move(linked);
  return linked_inputs.linked_from;
}

}   // namespace kedge::engine
