// The data sets inside the server: five as CSV, and the MNIST test images as IDX files.
#include "server/data/builtin.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "crypto/digest.h"
#include "engine/core/dataset_file.h"
#include "engine/core/require.h"
#include "server/data/builtin_bytes.h"
#include "server/data/inflate.h"
#include "server/data/parse.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using engine::DatasetMeta;
using schema::ErrorCode;

std::vector<std::string> digit_names() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

// A CSV whose last column is the target. classes: names of the codes that stand there; empty for regression.
struct CsvBuiltin {
  std::string_view name;
  std::string_view bytes;
  std::vector<std::string> classes;
};

std::vector<CsvBuiltin> csv_builtins() {
  const BuiltinBytes bytes = builtin_bytes();
  return {{"digits", bytes.digits, digit_names()},
          {"iris", bytes.iris, {"setosa", "versicolor", "virginica"}},
          {"wine", bytes.wine, {"class_0", "class_1", "class_2"}},
          {"breast_cancer", bytes.breast_cancer, {"malignant", "benign"}},
          {"diabetes", bytes.diabetes, {}}};
}

void write_csv(const CsvBuiltin& builtin, const std::filesystem::path& output) {
  const std::string inflated = looks_like_gzip(builtin.bytes) ? inflate_text(builtin.bytes) : std::string(builtin.bytes);
  ParseRequest request{.source = fmt::format("builtin {}", builtin.name), .output = output};
  request.describe = [&](DatasetMeta& meta) {
    meta.name = request.source;
    meta.target = meta.columns.back().name;
  };
  request.complete = [&](DatasetMeta& meta) {
    if (builtin.classes.empty()) return;
    meta.columns.back().type = ColumnInfo::Type::kNominal;
    meta.columns.back().categories = builtin.classes;
  };
  parse_csv(inflated, request);
}

// IDX (Y. LeCun's format for MNIST): a big-endian magic number whose last byte is the number of dimensions, their sizes, the bytes.
struct Idx {
  std::vector<std::int64_t> shape;
  std::string_view values;
};

Idx read_idx(std::string_view file) {
  const auto word = [&](std::size_t i) {
    std::int64_t value = 0;
    for (std::size_t b = 0; b < 4; ++b) value = value * 256 + static_cast<unsigned char>(file.at(i * 4 + b));
    return value;
  };
  Idx idx;
  const auto dimensions = static_cast<std::size_t>(word(0) & 0xff);
  for (std::size_t d = 1; d <= dimensions; ++d) idx.shape.push_back(word(d));
  idx.values = file.substr(4 * (dimensions + 1));
  return idx;
}

DatasetMeta mnist_meta(std::int64_t n_rows, std::int64_t n_pixels) {
  DatasetMeta meta{.name = "builtin mnist_10k", .n_rows = n_rows, .is_float32 = true, .n_values_columns = n_pixels + 1,
                   .target = "class"};
  for (std::int64_t p = 0; p < n_pixels; ++p) meta.columns.push_back({.name = fmt::format("pixel{}", p + 1), .values_column = p});
  meta.columns.push_back({.name = "class", .type = ColumnInfo::Type::kNominal, .categories = digit_names(), .values_column = n_pixels});
  return meta;
}

void write_mnist(const std::filesystem::path& output) {
  const BuiltinBytes bytes = builtin_bytes();
  const std::string image_file = inflate_text(bytes.mnist_images), label_file = inflate_text(bytes.mnist_labels);
  const Idx images = read_idx(image_file), labels = read_idx(label_file);
  const std::int64_t n_rows = labels.shape.at(0), n_pixels = images.shape.at(1) * images.shape.at(2);
  const bool consistent = images.shape.at(0) == n_rows && static_cast<std::int64_t>(images.values.size()) == n_rows * n_pixels &&
                          static_cast<std::int64_t>(labels.values.size()) == n_rows;
  engine::require(consistent, ErrorCode::kInternal, "builtin mnist_10k: its files do not fit together");
  engine::DatasetFileWriter writer(output, mnist_meta(n_rows, n_pixels));
  float* out = writer.values_f32().data();
  const auto to_float = [](char byte) { return static_cast<float>(static_cast<unsigned char>(byte)); };
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const auto row = images.values.substr(static_cast<std::size_t>(r * n_pixels), static_cast<std::size_t>(n_pixels));
    out = std::transform(row.begin(), row.end(), out, to_float);
    *out++ = to_float(labels.values[static_cast<std::size_t>(r)]);
  }
  writer.finish();
}

// As they are stored in the program.
std::string_view stored_bytes(const std::string& name) {
  if (name == "mnist_10k") return builtin_bytes().mnist_images;
  for (const CsvBuiltin& builtin : csv_builtins())
    if (builtin.name == name) return builtin.bytes;
  const auto names = builtin_dataset_names();
  const std::string_view nearest = schema::nearest_name(name, names);
  const std::string hint = nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
  throw schema::Error(ErrorCode::kDatasetNotFound, fmt::format("there is no built-in data set '{}'{}", name, hint), "dataset.builtin");
}

}  // namespace

std::vector<std::string> builtin_dataset_names() {
  std::vector<std::string> names;
  for (const CsvBuiltin& builtin : csv_builtins()) names.emplace_back(builtin.name);
  names.emplace_back("mnist_10k");
  return names;
}

std::string builtin_fingerprint(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;   // every job on such data asks
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  return known[name] = crypto::hex_digest(crypto::DigestKind::kMd5, stored_bytes(name)).substr(0, 16);
}

void write_builtin(const std::string& name, const std::filesystem::path& output) {
  if (name == "mnist_10k") return write_mnist(output);
  for (const CsvBuiltin& builtin : csv_builtins())
    if (builtin.name == name) return write_csv(builtin, output);
}

}  // namespace kedge::server
