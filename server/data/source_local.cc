// Data sets that need no network: built in, made here, and inline in the job.
#include <fmt/core.h>

#include <algorithm>

#include "crypto/digest.h"
#include "engine/core/stop.h"
#include "engine/generate/generate.h"
#include "schemas/error.h"
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
  acquired.hold = context.store.ensure(file, timed, context.stop);
  context.store.index().put(key, {file, ""});
  return acquired;
}

}  // namespace

std::string stored_file(const std::string& name, const std::string& owner) {
  constexpr std::string_view kPrefix = "sha256:";
  const std::string digest = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "";
  const bool is_digest = digest.size() == 64 && std::ranges::all_of(digest, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!is_digest) return {};
  return fmt::format("stored-{}.kds", owner.empty() ? digest : crypto::hex_digest(crypto::DigestKind::kSha256, owner + "\n" + digest));
}

AcquiredDataset acquire_from(const schema::BuiltinRef& ref, const std::string& key, const SourceContext& context) {
  const std::string file = fmt::format("builtin-{}-{}.kds", ref.name, builtin_fingerprint(ref.name));
  return ensure_local(file, key, context, [&] { write_builtin(ref.name, context.store.path(file)); });
}

// The server has put the digest in place of the name when the job was submitted; the upload has parsed it.
AcquiredDataset acquire_from(const schema::StoredRef& ref, const std::string&, const SourceContext& context) {
  std::string file = stored_file(ref.name, context.owner);
  if (!file.empty() && !std::filesystem::exists(context.store.path(file))) file = stored_file(ref.name);   // from before each had its own
  if (file.empty() || !context.store.has(file))
    throw schema::Error(schema::ErrorCode::kDatasetNotFound,
                        fmt::format("stored: there is no upload '{}'; PUT /v1/datasets/NAME makes one", ref.name), "dataset.stored");
  return {.path = context.store.path(file)};
}

AcquiredDataset acquire_from(const schema::GenerateRef& ref, const std::string& key, const SourceContext& context) {
  const std::string file =
      fmt::format("generated-{}.kds", crypto::hex_digest(crypto::DigestKind::kSha256, key).substr(0, 40));
  return ensure_local(file, key, context, [&] {
    const engine::StopScope stops(context.stop);
    engine::write_generated(ref, context.store.path(file));
  });
}

AcquiredDataset acquire_from(const schema::InlineRef& ref, const std::string& key, const SourceContext& context) {
  const std::string file = context.file(fmt::format("inline-{}.kds", crypto::hex_digest(crypto::DigestKind::kSha256, key).substr(0, 40)));
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
