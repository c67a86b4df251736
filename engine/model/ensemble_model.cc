// Imported trees as a stored model: see ensemble_model.h.
#include "engine/model/ensemble_model.h"

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "engine/core/lent_file.h"
#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/contributions.h"
#include "engine/imported/imported_model.h"
#include "engine/model/contributions_answer.h"
#include "engine/model/ensemble_sums.h"
#include "engine/model/graph_model.h"
#include "engine/version.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

void archive_trees(StateArchive& archive, const schema::ModelInfo& info, TreeEnsemble& trees) {
  const StateArchive::Scope scope(archive, kTreeEnsemble, static_cast<std::int64_t>(info.columns.size()));
  trees.state(archive, std::ranges::find(info.outputs, kContributions) != info.outputs.end());
}

constexpr std::int64_t kHeadBytes = 256;   // of a file, by which it is recognised

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The first `size` bytes. The place in the file, which its lender shares, stays as it is.
std::string bytes_of_file(int fd, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    require(got > 0, ErrorCode::kModelCorrupt, "the model's file ends at byte {} of {}", done, bytes.size());
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

class EnsembleModel final : public StoredModel {
 public:
  EnsembleModel(const Context& ctx, const ModelFile& file)
      : info_(file.info()), trees_(loaded(ctx, file)), sums_(ctx, trees_) {
    schema::ModelInfo expected;
    describe_trees(trees_, expected);
    require(info_.dtype == expected.dtype, ErrorCode::kModelCorrupt, "model: its dtype is {}, its trees are {}",
            info_.dtype, expected.dtype);
    info_.outputs = expected.outputs;
  }
  const schema::ModelInfo& info() const override { return info_; }

  ModelAnswer answer(const Context&, const ModelRows& rows, std::string_view output) override {
    if (std::ranges::find(info_.outputs, output) == info_.outputs.end())
      throw schema::Error(ErrorCode::kInvalidValue,
                          fmt::format("output is '{}', this model has {}", output, fmt::join(info_.outputs, ", ")),
                          "output");
    const auto n_cells = static_cast<std::size_t>(rows.n_rows) * info_.columns.size();
    require(rows.features.size() == info_.columns.size() && rows.values.size() == n_cells, ErrorCode::kInternal,
            "rows of {} columns for a model of {}", rows.features.size(), info_.columns.size());
    std::vector<double> known;   // where a category may be unknown
    if (output == kContributions || output == kInteractions) return contributed(rows, output == kInteractions);
    std::vector<double> numbers = sums_.margins(cells_of(rows, known), rows.n_rows);
    if (output != "decision_function") to_predictions(trees_, numbers);
    ModelAnswer answer = output == "predict" && trees_.is_classifier ? classes_of(numbers, rows.n_rows)
                         : output == "predict_proba"                 ? shares_of(numbers, rows.n_rows)
                                                                     : columns_of(std::move(numbers));
    answer.n_rows = rows.n_rows;
    return answer;
  }

 private:
  TreeEnsemble loaded(const Context& ctx, const ModelFile& file) const {
    TreeEnsemble trees;
    StateArchive archive(ctx, file, static_cast<std::int32_t>(info_.classes.size()));
    archive_trees(archive, info_, trees);
    archive.finish();
    return trees;
  }

  // LightGBM takes an unknown category as missing, XGBoost refuses it.
  std::span<const double> cells_of(const ModelRows& rows, std::vector<double>& known) const {
    const std::size_t n_cols = info_.columns.size();
    for (std::size_t j = 0; j < n_cols; ++j) {
      const std::size_t n_known = info_.columns[j].categories.size();
      if (n_known == 0 || rows.features[j].categories.size() <= n_known) continue;
      if (known.empty()) known = rows.values;
      for (std::size_t i = j; i < known.size(); i += n_cols) {
        if (!(known[i] >= static_cast<double>(n_known))) continue;
        require(!trees_.is_float32, ErrorCode::kBadData,
                "column '{}' has the category '{}', which the model was not trained with", info_.columns[j].name,
                rows.features[j].categories.at(static_cast<std::size_t>(known[i])));
        known[i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
    return known.empty() ? std::span<const double>(rows.values) : std::span<const double>(known);
  }

  ModelAnswer contributed(const ModelRows& rows, bool among_pairs) const {
    std::vector<std::string> columns, outputs;
    for (const schema::ModelColumn& column : info_.columns) columns.push_back(column.name);
    for (std::int32_t k = 0; k < trees_.n_outputs; ++k)
      outputs.push_back(trees_.is_classifier && trees_.n_outputs > 1 ? info_.classes[static_cast<std::size_t>(k)]
                                                                     : std::to_string(k));
    std::vector<double> known, known_background;
    std::span<const double> background;
    if (rows.background) of_background([&] { background = cells_of(*rows.background, known_background); });
    ModelAnswer answer =
        contributions_answer(sums_.contributions(cells_of(rows, known), background, rows.n_rows, among_pairs), columns,
                             outputs, among_pairs);
    answer.n_rows = rows.n_rows;
    return answer;
  }

  ModelAnswer columns_of(std::vector<double> numbers) const {
    ModelAnswer answer{.n_cols = trees_.n_outputs,
                       .is_vector = trees_.n_outputs == 1,
                       .is_float32 = trees_.is_float32,
                       .numbers = std::move(numbers)};
    for (std::int32_t k = 0; k < trees_.n_outputs && !answer.is_vector; ++k)
      answer.columns.push_back(trees_.is_classifier ? info_.classes[static_cast<std::size_t>(k)] : std::to_string(k));
    return answer;
  }

  // The second class above one half, or the first of the largest shares.
  std::size_t class_of(const double* row) const {
    if (trees_.n_outputs == 1) return *row > (trees_.link == EnsembleLink::kIdentity ? 0.0 : 0.5) ? 1 : 0;
    return static_cast<std::size_t>(std::max_element(row, row + trees_.n_outputs) - row);
  }
  ModelAnswer classes_of(const std::vector<double>& numbers, std::int64_t n_rows) const {
    ModelAnswer answer{.is_whole = std::ranges::all_of(info_.classes, is_whole_number)};
    std::vector<double> codes;
    for (const std::string& name : info_.classes)
      if (answer.is_whole) codes.push_back(std::stod(name));
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const std::size_t code = class_of(numbers.data() + i * trees_.n_outputs);
      if (answer.is_whole) answer.numbers.push_back(codes[code]);
      else answer.texts.push_back(info_.classes[code]);
    }
    return answer;
  }
  ModelAnswer shares_of(std::vector<double>& numbers, std::int64_t n_rows) const {
    ModelAnswer answer{.n_cols = trees_.n_classes(), .is_vector = false, .is_float32 = trees_.is_float32};
    answer.columns = info_.classes;
    if (trees_.n_outputs > 1) return answer.numbers = std::move(numbers), answer;
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const double share = numbers[static_cast<std::size_t>(i)];
      answer.numbers.push_back(trees_.is_float32 ? static_cast<double>(1.0F - static_cast<float>(share)) : 1.0 - share);
      answer.numbers.push_back(share);
    }
    return answer;
  }

  schema::ModelInfo info_;
  TreeEnsemble trees_;
  EnsembleSums sums_;   // of trees_
};

}   // namespace

bool is_tree_ensemble(const schema::ModelInfo& info) {
  return info.pipeline.size() == 1 && info.pipeline.front().estimator == kTreeEnsemble;
}

std::unique_ptr<StoredModel> load_tree_ensemble(const Context& ctx, const ModelFile& file) {
  return std::make_unique<EnsembleModel>(ctx, file);
}

ForeignModel translated(const Context& ctx, std::string_view foreign) {
  ImportedModel model = import_model(foreign);
  model.info.version = kVersion, model.info.device = "cpu";
  const std::int64_t bytes = model.program ? model.program->bytes() : model.trees.file_bytes();
  require(bytes <= kMostForeignBytes, ErrorCode::kInvalidValue,
          "the numbers of this model take {} bytes, at most {} are taken", bytes, kMostForeignBytes);
  const std::int64_t names = 8 * static_cast<std::int64_t>(foreign.size()) + (std::int64_t{1} << 20);
  ModelFileWriter writer({},
                         static_cast<std::size_t>(bytes + std::min(names, kMostForeignBytes)));   // no file is written
  StateArchive archive(ctx, writer, static_cast<std::int32_t>(model.info.classes.size()));
  if (model.program) archive_program(archive, model.info, *model.program);
  else archive_trees(archive, model.info, model.trees);
  ForeignModel result{.bytes = writer.finish(model.info)};
  const std::size_t size = padded_size(result.bytes.size());
  const std::unique_ptr<void, decltype(&std::free)> aligned(std::aligned_alloc(kModelAlignment, size), &std::free);
  if (!aligned) throw std::bad_alloc();
  std::memcpy(aligned.get(), result.bytes.data(), result.bytes.size());
  const std::span<const std::byte> view(static_cast<const std::byte*>(aligned.get()), result.bytes.size());
  result.info = StoredModel::load(ctx, ModelFile(view))->info();
  return result;
}

std::optional<ForeignModel> translated_file(const Context& ctx, const std::filesystem::path& path) {
  const Descriptor file(open_to_read(path));
  struct stat status{};
  require(file.get() >= 0 && ::fstat(file.get(), &status) == 0, ErrorCode::kNotFound, "the model's file is not there");
  const std::int64_t size = status.st_size;
  std::string text = bytes_of_file(file.get(), std::min(size, kHeadBytes));
  if (!is_foreign_model(text)) return std::nullopt;
  text = bytes_of_file(file.get(), size);
  return translated(ctx, text);
}

}   // namespace kedge::engine
