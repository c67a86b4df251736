// Data sets that need no network: built in, and inline in the job.
#include <fmt/core.h>

#include "server/data/builtin.h"
#include "server/data/source_steps.h"

namespace kedge::server {
namespace {

AcquiredDataset ensure_local(const std::string& file, const std::string& key, const SourceContext& context,
                             const std::function<void()>& make) {
  AcquiredDataset acquired{.path = context.store.path(file)};
  const Stopwatch parse;
  const auto timed = [&] {
    make();
    acquired.cold = true;
    acquired.parse_seconds = parse.seconds();
  };
  context.store.ensure(file, timed, context.stop);
  context.store.index().put(key, {file, ""});
  return acquired;
}

}  // namespace

AcquiredDataset acquire_from(const schema::BuiltinRef& ref, const std::string& key, const SourceContext& context) {
  const std::string file = fmt::format("builtin-{}-{}.kds", ref.name, builtin_fingerprint(ref.name));
  return ensure_local(file, key, context, [&] { write_builtin(ref.name, context.store.path(file)); });
}

AcquiredDataset acquire_from(const schema::InlineRef& ref, const std::string& key, const SourceContext& context) {
  const std::string file = fmt::format("inline-{}.kds", hex_digest(DigestKind::kSha256, key).substr(0, 40));
  const auto describe = [&](engine::DatasetMeta& meta) {
    meta.name = "inline data";
    set_target(meta, ref.target, "dataset.inline.target");
  };
  return ensure_local(file, key, context, [&] {
    parse_csv(ref.csv, {.source = "inline data", .output = context.store.path(file), .describe = describe,
                        .parallel = parse_options(context)});
  });
}

}  // namespace kedge::server
