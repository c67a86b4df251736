// Counts the candidates that will still use shared kernel rows; the last one drops them.
#include "engine/estimators/svm/shared_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/value.h"

namespace kedge::engine {
namespace {

struct Users {
  std::int64_t left = 0;   // fits that announced themselves and have not asked yet
};
struct Room {
  std::int64_t bytes = kSharedKernelBytes;
};

// All that kernel rows depend on beside the fold's targets and weights: tol decides whether they are computed in
// double.
std::string key_of(const std::string& content, const char* owner, const SvmParams& params) {
  return fmt::format("{} {} {} {} {} {} {} {}", content, owner, params.kernel, schema::to_string(params.gamma),
                     params.degree, params.coef0, params.tol, params.cache_size);
}

Users& users(WorkCache& work, const std::string& key) {
  return *work.get<Users>("users of kernel rows", key, [] { return Users(); });
}

}   // namespace

void announce_kernel(WorkCache& plan, const std::string& content, const char* owner, const SvmParams& params) {
  if (!content.empty()) ++users(plan, key_of(content, owner, params)).left;
}

std::shared_ptr<KernelRows> shared_kernel(const Context& ctx, const std::string& content, const char* owner,
                                          const SvmParams& params,
                                          const std::function<std::shared_ptr<KernelRows>()>& make) {
  if (!ctx.work || content.empty()) return make();
  const std::string key = key_of(content, owner, params);
  Users& others = users(*ctx.work, key);
  others.left = std::max<std::int64_t>(0, others.left - 1);
  std::shared_ptr<KernelRows> made;
  const auto kept = ctx.work->get<std::shared_ptr<KernelRows>>("kernel rows", key, [&] { return made = make(); });
  if (!made && !*kept) made = make();   // dropped before, or without room
  Room& room = *ctx.work->get<Room>("room for kernel rows", "", [] { return Room(); });
  if (made) {
    const std::int64_t bytes = made->capacity_bytes();
    const bool stays = others.left > 0 && made->is_fixed() && bytes <= room.bytes;
    *kept = stays ? made : nullptr;
    if (stays) room.bytes -= bytes;
    return made;
  }
  const std::shared_ptr<KernelRows> found = *kept;
  if (others.left == 0) room.bytes += found->capacity_bytes(), kept->reset();
  return found;
}

}   // namespace kedge::engine
