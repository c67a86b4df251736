// A file behind a URL or in an object store, plain or packed, and the files that a pattern names in one or on the
// Hugging Face Hub.
#include <fmt/core.h>

#include <deque>

#include "crypto/digest.h"
#include "engine/core/require.h"
#include "server/data/hugging_face.h"
#include "server/data/join_tables.h"
#include "server/data/object_store.h"
#include "server/data/source_steps.h"

namespace kedge::server {
namespace {

using schema::UrlRef;

// What else decides what the file of a data set is, beside the bytes.
std::string manner_of(const UrlRef& ref) {
  return crypto::hex_digest(crypto::DigestKind::kMd5, ref.format + "\n" + ref.target + "\n" + ref.url).substr(0, 8);
}

std::string file_name(const UrlRef& ref, const std::string& digest, const SourceContext& context) {
  return context.file(fmt::format("url-{}-{}.kds", digest.substr(0, 40), manner_of(ref)));
}

FetchRequest fetch_request(const UrlRef& ref, const std::string& url, const SourceContext& context) {
  ObjectRequest object = object_request(context.options.stores, url);
  return {.what = base_name(url),
          .url = std::move(object.url),
          .expected = ref.sha256,
          .trace = context.trace,
          .signing = std::move(object.signing)};
}

std::function<void(engine::DatasetMeta&)> describe(const UrlRef& ref) {
  return [&ref](engine::DatasetMeta& meta) {
    meta.name = ref.url;
    set_target(meta, ref.target, "dataset.url.target");
  };
}

// Of several files, with the keys of the store that has them.
struct Listed {
  std::vector<ObjectInfo> files;
  RequestSigning signing;
};

Listed list_files(const UrlRef& ref, const SourceContext& context) {
  const std::vector<ObjectStore>& stores = context.options.stores;
  if (!is_hub_url(ref.url)) {
    const ObjectStore* const store = store_of(stores, ref.url);
    return {list_objects(stores, ref.url, context.fetcher, context.trace, context.stop),
            store ? store->signing : RequestSigning{}};
  }
  HubFiles found = list_hub_files(stores, ref.url, context.fetcher, context.trace, context.stop);
  log(context.emit, "info", fmt::format("{}: commit {}", ref.url, found.commit));
  return {std::move(found.files), {}};
}

// The files that an address names, each parsed, then joined.
class Files {
 public:
  Files(const UrlRef& ref, const SourceContext& context)
      : ref_(ref), context_(context), found_(list_files(ref, context)) {
    for (const ObjectInfo& file : found_.files) total_ += file.bytes;
    engine::require(total_ <= context.options.max_download_bytes, schema::ErrorCode::kInvalidValue,
                    "'{}': {} files of {} bytes in all, more than the limit of {}", ref.url, found_.files.size(),
                    total_, context.options.max_download_bytes);
  }

  // Of all names and versions: the store's ETag changes with an object.
  std::string digest() const {
    std::string all;
    for (const ObjectInfo& file : found_.files) all += fmt::format("{}\n{}\n{}\n", file.key, file.etag, file.bytes);
    return crypto::hex_digest(crypto::DigestKind::kSha256, all);
  }

  void make(const std::filesystem::path& output, AcquiredDataset& acquired) const {
    std::deque<RemovedFile> parsed;
    std::vector<TablePartFile> parts;
    std::int64_t done = 0;
    for (const ObjectInfo& file : found_.files) {
      const RemovedFile text{context_.store.temporary_path()};
      const FetchRequest request{.what = base_name(file.key),
                                 .url = file.url,
                                 .expected = file.sha256,
                                 .trace = context_.trace,
                                 .signing = found_.signing};
      const auto progress = [&](std::int64_t came, std::int64_t) {
        download_progress(context_.emit)(done + came, total_);
      };
      const Stopwatch download;
      context_.fetcher.to_file(request, text.path, progress, context_.stop);
      acquired.download_seconds += download.seconds();
      done += file.bytes;
      const Stopwatch parse;
      parsed.push_back({context_.store.temporary_path()});
      parts.push_back({request.what, parsed.back().path});
      parse_file(text.path, ref_.format,
                 {.source = request.what, .output = parts.back().file, .parallel = {.stop = context_.stop}}, context_);
      acquired.parse_seconds += parse.seconds();
    }
    const Stopwatch join;
    join_tables(parts, output, describe(ref_));
    acquired.parse_seconds += join.seconds();
    acquired.cold = true;
  }

 private:
  const UrlRef& ref_;
  const SourceContext& context_;
  const Listed found_;
  std::int64_t total_ = 0;
};

AcquiredDataset acquire_files(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  const Files files(ref, context);
  const std::string file = file_name(ref, files.digest(), context);
  AcquiredDataset acquired{.path = context.store.path(file)};
  acquired.hold = context.store.ensure(file, [&] { files.make(acquired.path, acquired); }, context.stop);
  context.store.index().put(key, {file, ""});
  return acquired;
}

}  // namespace

AcquiredDataset acquire_from(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  if (is_hub_url(ref.url) || (is_object_url(ref.url) && is_pattern(split_object_url(ref.url))))
    return acquire_files(ref, key, context);
  const auto known = context.store.find(key);
  const RemovedFile text{context.store.temporary_path()};
  const Stopwatch download;
  FetchRequest request = fetch_request(ref, ref.url, context);
  request.etag = known ? known->etag : "";
  const Fetched fetched = context.fetcher.to_file(request, text.path, download_progress(context.emit), context.stop);
  AcquiredDataset acquired{.download_seconds = download.seconds(), .cold = !fetched.not_modified};
  const std::string file = fetched.not_modified ? known->file : file_name(ref, fetched.digest, context);
  acquired.path = context.store.path(file);
  const auto make = [&] {
    const Stopwatch parse;
    const ParseRequest parsing{
        .source = request.what, .output = acquired.path, .describe = describe(ref), .parallel = parse_options(context)};
    parse_file(text.path, ref.format, parsing, context);
    acquired.parse_seconds = parse.seconds();
  };
  acquired.hold = context.store.ensure(file, make, context.stop);
  context.store.index().put(key, {file, fetched.not_modified ? known->etag : fetched.etag});
  return acquired;
}

}  // namespace kedge::server
