// OpenML data sets: from name or id to a parsed file.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>

#include "crypto/digest.h"
#include "server/data/arff_stream.h"
#include "server/data/openml.h"
#include "server/data/source_steps.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::OpenmlRef;

std::string key_of(const OpenmlRef& ref, const SourceContext& context) { return context.key(reference_key({ref}, context.options)); }

void describe(engine::DatasetMeta& meta, const OpenmlDataset& dataset, const Emit& emit) {
  meta.name = dataset.title();
  const auto exists = [&](const std::string& name) {
    return std::ranges::any_of(meta.columns, [&](const auto& column) { return column.name == name; });
  };
  for (const std::string& name : dataset.ignored)
    if (exists(name)) meta.ignored.push_back(name);
  if (dataset.targets.size() == 1 && exists(dataset.targets[0])) meta.target = dataset.targets[0];
  else if (dataset.targets.empty())
    log(emit, "warning", fmt::format("{} has no default target: choose one with select.target", meta.name));
  else
    log(emit, "warning",
        fmt::format("{} has the default targets '{}': choose one with select.target, or several with select.targets",
                    meta.name, fmt::join(dataset.targets, "', '")));
}

class OpenmlSource {
 public:
  explicit OpenmlSource(const SourceContext& context)
      : context_(context), client_(context.fetcher, context.options.openml_url, context.trace) {}

  AcquiredDataset acquire(const OpenmlRef& ref) {
    const Stopwatch watch;
    const std::int64_t id = ref.id != 0 ? ref.id : client_.find(ref.name, ref.version, context_.stop);
    if (auto known = context_.store.find(key_of({.id = id}, context_)))
      return {.path = context_.store.path(known->file), .hold = std::move(known->hold), .download_seconds = watch.seconds()};
    const OpenmlDataset dataset = client_.describe(id, context_.stop);
    if (dataset.status == "deactivated")
      log(context_.emit, "warning", fmt::format("{} is deactivated on OpenML", dataset.title()));
    AcquiredDataset acquired{.download_seconds = watch.seconds(), .cold = true};
    const std::string file = file_name(dataset);
    acquired.hold = context_.store.ensure(file, [&] { make(dataset, file, acquired); }, context_.stop);
    context_.store.index().put(key_of({.id = id}, context_), {file, ""});
    context_.store.index().put(key_of({.name = dataset.name, .version = dataset.version}, context_), {file, ""});
    acquired.path = context_.store.path(file);
    return acquired;
  }

 private:
  // Without a checksum the file is as good as its address.
  std::string file_name(const OpenmlDataset& dataset) const {
    const std::string content =
        dataset.md5.empty() ? crypto::hex_digest(crypto::DigestKind::kMd5, client_.download_url(dataset)) : dataset.md5;
    const bool is_plain = std::ranges::all_of(content, [](unsigned char c) { return std::isalnum(c); });
    if (!is_plain) throw Error(ErrorCode::kDatasetUnavailable, "openml: md5_checksum is not hexadecimal");
    return context_.file(fmt::format("openml-{}-{}.kds", dataset.id, content.substr(0, 32)));
  }

  // Rows are parsed while the text arrives, into a file that gets its name only when the checksum was right. What the
  // features say is requested meanwhile.
  void make(const OpenmlDataset& dataset, const std::string& file, AcquiredDataset& acquired) {
    const Stopwatch download;
    auto whole = std::async(std::launch::async, [&] { return client_.with_features(dataset, context_.stop); });
    const ParseRequest parsing{.source = dataset.name + ".arff",
                               .output = context_.store.path(file),
                               .complete = [&](engine::DatasetMeta& meta) { describe(meta, whole.get(), context_.emit); },
                               .parallel = {.stop = context_.stop}};
    const FetchRequest request{.what = dataset.title(), .url = client_.download_url(dataset), .digest = crypto::DigestKind::kMd5,
                               .expected = dataset.md5, .trace = context_.trace};
    ArffStream rows(parsing);
    const Fetched fetched = context_.fetcher.to_sink(request, rows, download_progress(context_.emit), context_.stop);
    acquired.download_seconds += download.seconds();
    const Stopwatch parse;
    rows.finish();
    acquired.parse_seconds = parse.seconds();
    context_.emit(schema::ProgressEvent{"parse", fetched.bytes, fetched.bytes, "bytes"});
  }

  const SourceContext& context_;
  const OpenmlClient client_;
};

}  // namespace

AcquiredDataset acquire_from(const OpenmlRef& ref, const std::string& key, const SourceContext& context) {
  AcquiredDataset acquired = OpenmlSource(context).acquire(ref);
  context.store.index().put(key, {acquired.path.filename().string(), ""});
  return acquired;
}

}  // namespace kedge::server
