// A file behind a URL or in an object store, plain or packed, and the files that a pattern names in one, on the
// Hugging Face Hub, or behind URLs.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "crypto/digest.h"
#include "engine/core/require.h"
#include "server/data/arrow.h"
#include "server/data/cell.h"
#include "server/data/hugging_face.h"
#include "server/data/join_tables.h"
#include "server/data/mapped_text.h"
#include "server/data/object_store.h"
#include "server/data/rcv1.h"
#include "server/data/sklearn_sets.h"
#include "server/data/source_steps.h"
#include "server/data/url_pattern.h"

namespace kedge::server {
namespace {

using schema::UrlRef;

// What else decides what the file of a data set is, beside the bytes.
std::string manner_of(const UrlRef& ref, const SourceContext& context) {
  const std::string manner =
      crypto::hex_digest(crypto::DigestKind::kMd5,
                         fmt::format("{}\n{}\n{}{}", ref.format, ref.target, ref.url, fmt::join(ref.urls, "\n")))
          .substr(0, 8);
  return context.columns.empty() ? manner : manner + "-" + columns_digest(context.columns);
}

std::string file_name(const UrlRef& ref, const std::string& digest, const SourceContext& context) {
  return context.file(fmt::format("url-{}-{}.kds", digest.substr(0, 40), manner_of(ref, context)));
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
    meta.name = shown_address(ref);
    set_target(meta, ref.target, "dataset.url.target");
  };
}

std::function<void(std::string)> note(const SourceContext& context) {
  return [&context](std::string message) { log(context.emit, "info", std::move(message)); };
}

// Parses the files of one table after each other. The first one decides whether columns are left out.
class Parts {
 public:
  Parts(const UrlRef& ref, const SourceContext& context) : ref_(ref), context_(context), columns_(context.columns) {
    if (!columns_.empty() && !ref.target.empty()) columns_.push_back(ref.target);
  }

  void add(const std::string& name, const std::filesystem::path& text) {
    parsed_.push_back({context_.store.temporary_path()});
    files_.push_back({name, parsed_.back().path});
    parse_file(text, ref_.format,
               {.source = name,
                .output = parsed_.back().path,
                .parallel = {.stop = context_.stop},
                .columns = columns_,
                .needs_columns = files_.size() > 1,
                .note = note(context_)},
               context_);
    if (files_.size() > 1 || columns_.empty()) return;
    const engine::DatasetFile first(parsed_.back().path);
    if (!std::ranges::all_of(columns_, [&](const std::string& column) { return first.meta().has_column(column); }))
      columns_.clear();
  }

  void join(const std::filesystem::path& output) const { join_tables(files_, output, describe(ref_)); }

 private:
  const UrlRef& ref_;
  const SourceContext& context_;
  std::vector<std::string> columns_;
  std::deque<RemovedFile> parsed_;
  std::vector<TablePartFile> files_;
};

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
    Parts parts(ref_, context_);
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
      parts.add(request.what, text.path);
      acquired.parse_seconds += parse.seconds();
    }
    const Stopwatch join;
    parts.join(output);
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

std::vector<std::string> urls_of(const UrlRef& ref) {
  return ref.urls.empty() ? expand_url_pattern(ref.url) : ref.urls;
}

// The files of a list or a pattern of URLs. No list says what there is, so each is asked: where none has changed,
// nothing comes.
class Addresses {
 public:
  Addresses(const UrlRef& ref, const SourceContext& context)
      : ref_(ref), context_(context), urls_(urls_of(ref)), texts_(urls_.size()), fetched_(urls_.size()) {
    for (RemovedFile& text : texts_) text.path = context.store.temporary_path();
  }

  // False: they are what they were when these ETags came.
  bool fetch(const std::string& known_etags) {
    std::vector<std::string> etags = split(known_etags);
    etags.resize(urls_.size());
    for (std::size_t i = 0; i < urls_.size(); ++i) fetch_one(i, etags[i]);
    const auto is_old = [](const Fetched& one) { return one.not_modified; };
    if (std::ranges::all_of(fetched_, is_old)) return false;
    for (std::size_t i = 0; i < urls_.size(); ++i)
      if (is_old(fetched_[i])) fetch_one(i, "");
    return true;
  }

  std::string etags() const {
    std::string all;
    for (const Fetched& one : fetched_) {
      const bool is_plain = one.etag.find_first_of("\t\n") == std::string::npos;
      all += (is_plain ? one.etag : "") + kBetween;
    }
    return all;
  }

  std::string digest() const {
    std::string all;
    for (const Fetched& one : fetched_) all += one.digest + "\n";
    return crypto::hex_digest(crypto::DigestKind::kSha256, all);
  }

  void make(const std::filesystem::path& output) const {
    Parts parts(ref_, context_);
    for (std::size_t i = 0; i < urls_.size(); ++i) parts.add(base_name(urls_[i]), texts_[i].path);
    parts.join(output);
  }

 private:
  static constexpr char kBetween = '\t';   // an ETag has none

  static std::vector<std::string> split(const std::string& etags) {
    std::vector<std::string> each;
    for (std::size_t start = 0; start < etags.size();) {
      const std::size_t end = std::min(etags.find(kBetween, start), etags.size());
      each.push_back(etags.substr(start, end - start));
      start = end + 1;
    }
    return each;
  }

  void fetch_one(std::size_t i, const std::string& etag) {
    const auto progress = [&](std::int64_t done, std::int64_t) { download_progress(context_.emit)(came_ + done, 0); };
    const FetchRequest request{
        .what = base_name(urls_[i]), .url = urls_[i], .expected = "", .etag = etag, .trace = context_.trace};
    fetched_[i] = context_.fetcher.to_file(request, texts_[i].path, progress, context_.stop);
    came_ += fetched_[i].bytes;
    engine::require(came_ <= context_.options.max_download_bytes, schema::ErrorCode::kInvalidValue,
                    "'{}': its files have more than {} bytes, the limit", shown_address(ref_),
                    context_.options.max_download_bytes);
  }

  const UrlRef& ref_;
  const SourceContext& context_;
  const std::vector<std::string> urls_;
  std::deque<RemovedFile> texts_;
  std::vector<Fetched> fetched_;
  std::int64_t came_ = 0;
};

AcquiredDataset acquire_addresses(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  auto known = context.store.find(key);
  Addresses addresses(ref, context);
  const Stopwatch download;
  if (!addresses.fetch(known ? known->etag : ""))
    return {.path = context.store.path(known->file),
            .hold = std::move(known->hold),
            .download_seconds = download.seconds()};
  AcquiredDataset acquired{.download_seconds = download.seconds(), .cold = true};
  const std::string file = file_name(ref, addresses.digest(), context);
  acquired.path = context.store.path(file);
  const Stopwatch parse;
  acquired.hold = context.store.ensure(file, [&] { addresses.make(acquired.path); }, context.stop);
  acquired.parse_seconds = parse.seconds();
  context.store.index().put(key, {file, addresses.etags()});
  return acquired;
}

std::string sklearn_host(const UrlRef& ref, const SourceContext& context) {
  const ObjectStore* const mirror = store_of(context.options.stores, ref.url);
  return mirror && !mirror->endpoint.empty() ? mirror->endpoint : "https://ndownloader.figshare.com";
}

// A set of scikit-learn's: one file with a known digest, made a table with names.
AcquiredDataset acquire_sklearn_set(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  const SklearnSet set = sklearn_set(ref.url);
  const std::string host = sklearn_host(ref, context);
  const RemovedFile packed{context.store.temporary_path()};
  const FetchRequest request{.what = std::string(set.file),
                             .url = host + std::string(set.address),
                             .expected = ref.sha256.empty() ? std::string(set.sha256) : ref.sha256,
                             .trace = context.trace};
  const Stopwatch download;
  const Fetched fetched = context.fetcher.to_file(request, packed.path, download_progress(context.emit), context.stop);
  AcquiredDataset acquired{.download_seconds = download.seconds(), .cold = true};
  const std::string file = file_name(ref, fetched.digest, context);
  acquired.path = context.store.path(file);
  const auto make = [&] {
    const Stopwatch parse;
    const RemovedFile csv{context.store.temporary_path()};
    write_sklearn_table(set, MappedText(packed.path).text(), csv.path, context.options.max_download_bytes);
    parse_file(csv.path, "csv",
               {.source = request.what,
                .output = acquired.path,
                .describe = describe(ref),
                .parallel = parse_options(context)},
               context);
    acquired.parse_seconds = parse.seconds();
  };
  acquired.hold = context.store.ensure(file, make, context.stop);
  context.store.index().put(key, {file, ""});
  return acquired;
}

// The files of rcv1, one after another: the topics first, so that a wrong topic costs no other download.
class Rcv1 {
 public:
  Rcv1(const UrlRef& ref, const SourceContext& context) : ref_(ref), context_(context), set_(rcv1_set(ref.url)) {}

  std::string digest() const { return ref_.sha256.empty() ? rcv1_digest(set_) : ref_.sha256; }

  void make(AcquiredDataset& acquired) {
    const RemovedFile topics{context_.store.temporary_path()};
    fetch(kRcv1Topics, topics, acquired);
    const Rcv1Labels labels(MappedText(topics.path).text(), set_.topic);
    const RemovedFile text{context_.store.temporary_path()};
    Rcv1Text rows(text.path, labels, context_.options.max_download_bytes);
    for (const Rcv1File& file : set_.vectors) {
      const RemovedFile vectors{context_.store.temporary_path()};
      fetch(file, vectors, acquired);
      const Stopwatch convert;
      rows.add(file.name, MappedText(vectors.path).text());
      acquired.parse_seconds += convert.seconds();
    }
    engine::require(ref_.sha256.empty() || same_ignoring_case(rcv1_digest(digests_), ref_.sha256),
                    schema::ErrorCode::kDatasetCorrupt, "'{}': the SHA-256 of its files is {}, must be {}", ref_.url,
                    rcv1_digest(digests_), ref_.sha256);
    const Stopwatch parse;
    rows.finish();
    parse_file(
        text.path, "libsvm",
        {.source = "rcv1", .output = acquired.path, .describe = describe(ref_), .parallel = parse_options(context_)},
        context_);
    acquired.parse_seconds += parse.seconds();
    acquired.cold = true;
  }

 private:
  void fetch(const Rcv1File& file, const RemovedFile& to, AcquiredDataset& acquired) {
    const FetchRequest request{.what = std::string(file.name),
                               .url = sklearn_host(ref_, context_) + std::string(file.address),
                               .expected = ref_.sha256.empty() ? std::string(file.sha256) : "",
                               .trace = context_.trace};
    const auto progress = [&](std::int64_t done, std::int64_t) { download_progress(context_.emit)(came_ + done, 0); };
    const Stopwatch download;
    const Fetched fetched = context_.fetcher.to_file(request, to.path, progress, context_.stop);
    acquired.download_seconds += download.seconds();
    came_ += fetched.bytes;
    digests_.push_back(fetched.digest);
  }

  const UrlRef& ref_;
  const SourceContext& context_;
  const Rcv1Set set_;
  std::vector<std::string> digests_;
  std::int64_t came_ = 0;
};

AcquiredDataset acquire_rcv1(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  Rcv1 rcv1(ref, context);
  const std::string file = file_name(ref, rcv1.digest(), context);
  AcquiredDataset acquired{.path = context.store.path(file)};
  acquired.hold = context.store.ensure(file, [&] { rcv1.make(acquired); }, context.stop);
  context.store.index().put(key, {file, ""});
  return acquired;
}

}  // namespace

std::string shown_address(const UrlRef& ref) {
  if (ref.urls.empty()) return ref.url;
  return ref.urls.size() == 1 ? ref.urls.front() : fmt::format("{} and {} more", ref.urls.front(), ref.urls.size() - 1);
}

bool is_columnar(const UrlRef& ref) {
  if (is_arrow_format(ref.format)) return true;
  const bool is_list =
      !is_object_url(ref.url) && !is_hub_url(ref.url) && (!ref.urls.empty() || is_url_pattern(ref.url));
  const std::string name = base_name(is_list ? urls_of(ref).front() : ref.url);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string ending = name.substr(dot + 1);
  return is_arrow_format(ending) || same_ignoring_case(ending, "feather");
}

AcquiredDataset acquire_from(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  if (is_hub_url(ref.url) || (is_object_url(ref.url) && is_pattern(split_object_url(ref.url))))
    return acquire_files(ref, key, context);
  if (is_rcv1_url(ref.url)) return acquire_rcv1(ref, key, context);
  if (is_sklearn_url(ref.url)) return acquire_sklearn_set(ref, key, context);
  if (!ref.urls.empty() || (!is_object_url(ref.url) && is_url_pattern(ref.url)))
    return acquire_addresses(ref, key, context);
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
    const ParseRequest parsing{.source = request.what,
                               .output = acquired.path,
                               .describe = describe(ref),
                               .parallel = parse_options(context),
                               .columns = context.columns,
                               .note = note(context)};
    parse_file(text.path, ref.format, parsing, context);
    acquired.parse_seconds = parse.seconds();
  };
  acquired.hold = context.store.ensure(file, make, context.stop);
  context.store.index().put(key, {file, fetched.not_modified ? known->etag : fetched.etag});
  return acquired;
}

UrlRef address_of(const schema::SklearnRef& ref) {
  return {.url = "sklearn://" + ref.name};
}

AcquiredDataset acquire_from(const schema::SklearnRef& ref, const std::string& key, const SourceContext& context) {
  return acquire_from(address_of(ref), key, context);
}

}  // namespace kedge::server
