// A CSV, ARFF, libsvm, Parquet or Arrow file behind a URL, plain or gzip.
#include <fmt/core.h>

#include <fstream>

#include "crypto/digest.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/arrow.h"
#include "server/data/inflate.h"
#include "server/data/mapped_text.h"
#include "server/data/source_steps.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::UrlRef;

// The last part of the URL's path, for messages: "train.csv".
std::string base_name(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? url : name;
}

// Inflates a gzip file into another; false when it is none.
bool inflate_file(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& what, std::int64_t most_bytes) {
  const MappedText mapped(from);
  if (!looks_like_gzip(mapped.text())) return false;
  std::ofstream out(to, std::ios::binary);
  std::int64_t written = 0;
  try {
    Inflater inflater;
    inflater.feed(mapped.text(), [&](std::string_view piece) {
      written += static_cast<std::int64_t>(piece.size());
      engine::require(written <= most_bytes, ErrorCode::kInvalidValue, "{}: inflates to more than the limit of {} bytes", what, most_bytes);
      out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    });
    if (!inflater.complete()) throw InflateError{"it ends early"};
  } catch (const InflateError& error) {
    throw Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: damaged gzip file: {}", what, error.what));
  }
  out.close();
  engine::require(out.good(), ErrorCode::kInternal, "{}: cannot be written", engine::shown(to));
  return true;
}

class UrlSource {
 public:
  UrlSource(const UrlRef& ref, const std::string& key, const SourceContext& context)
      : ref_(ref), key_(key), context_(context), name_(base_name(ref.url)) {}

  AcquiredDataset acquire() {
    const auto known = context_.store.find(key_);
    const RemovedFile text{context_.store.temporary_path()};
    const Stopwatch download;
    const FetchRequest request{.what = name_, .url = ref_.url, .expected = ref_.sha256, .etag = known ? known->etag : "",
                               .trace = context_.trace};
    const Fetched fetched = context_.fetcher.to_file(request, text.path, download_progress(context_.emit), context_.stop);
    AcquiredDataset acquired{.download_seconds = download.seconds(), .cold = !fetched.not_modified};
    const std::string file = fetched.not_modified ? known->file : file_name(fetched.digest);
    acquired.hold = context_.store.ensure(file, [&] { make(text.path, file, acquired); }, context_.stop);
    context_.store.index().put(key_, {file, fetched.not_modified ? known->etag : fetched.etag});
    acquired.path = context_.store.path(file);
    return acquired;
  }

 private:
  std::string file_name(const std::string& digest) const {
    const std::string manner = crypto::hex_digest(crypto::DigestKind::kMd5, ref_.format + "\n" + ref_.target + "\n" + ref_.url).substr(0, 8);
    return context_.file(fmt::format("url-{}-{}.kds", digest.substr(0, 40), manner));
  }

  void make(const std::filesystem::path& text, const std::string& file, AcquiredDataset& acquired) {
    const Stopwatch parse;
    const RemovedFile plain{context_.store.temporary_path()};
    const bool inflated = inflate_file(text, plain.path, name_, context_.options.max_download_bytes);
    const std::filesystem::path& content = inflated ? plain.path : text;
    const MappedText mapped(content);
    const auto describe = [&](engine::DatasetMeta& meta) {
      meta.name = ref_.url;
      set_target(meta, ref_.target, "dataset.url.target");
    };
    const ParseRequest request{.source = name_,
                               .output = context_.store.path(file),
                               .describe = describe,
                               .parallel = parse_options(context_)};
    if (is_arrow_format(ref_.format) || !arrow_format_of(mapped.text()).empty()) parse_arrow(content, request);
    else parse_text(mapped.text(), ref_.format, request);
    acquired.parse_seconds = parse.seconds();
  }

  const UrlRef& ref_;
  const std::string& key_;
  const SourceContext& context_;
  const std::string name_;
};

}  // namespace

AcquiredDataset acquire_from(const UrlRef& ref, const std::string& key, const SourceContext& context) {
  return UrlSource(ref, key, context).acquire();
}

}  // namespace kedge::server
