// Sparse ARFF rows to a sparse data set file.
#include "server/data/arff_sparse.h"

#include <system_error>
#include <utility>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/arff_rows.h"
#include "server/data/mapped_text.h"
#include "server/data/sparse_text.h"

namespace kedge::server {
namespace {

class ArffSparseReader final : public SparseReader {
 public:
  ArffSparseReader(const engine::DatasetMeta& meta, const std::vector<CategoryCodes>& codes,
                   std::vector<std::int64_t>& missing)
      : reader_(meta.columns, codes, meta.n_values_columns),
        values_(static_cast<std::size_t>(meta.n_values_columns), 0.0),
        missing_(missing) {}
  ~ArffSparseReader() override { missing_ = reader_.missing(); }

  bool is_row(const char* p, const char* end) const override { return server::is_row(p, end); }
  void read(const char* p, const char* end, SparseRow& row) override {
    reader_.read_entries(p, end, values_.data(), [&](std::int64_t column, double value) {
      row.add(static_cast<std::int32_t>(column), value);
    });
  }

 private:
  RowReader<double> reader_;
  std::vector<double> values_;
  std::vector<std::int64_t>& missing_;
};

}  // namespace

SparseArff::SparseArff(const ParseRequest& request, engine::DatasetMeta meta, std::int64_t lines)
    : request_(request),
      meta_(std::move(meta)),
      path_(request.output.string() + ".text"),
      file_(path_, std::ios::binary) {
  for (std::int64_t i = 0; i < lines; ++i) file_.put('\n');
}

SparseArff::~SparseArff() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void SparseArff::write(std::string_view text) {
  file_.write(text.data(), static_cast<std::streamsize>(text.size()));
  engine::require(file_.good(), schema::ErrorCode::kInternal, "{}: cannot be written", engine::shown(path_));
}

engine::DatasetMeta SparseArff::finish() {
  file_.close();
  engine::require(file_.good(), schema::ErrorCode::kInternal, "{}: cannot be written", engine::shown(path_));
  const MappedText mapped(path_);
  SparseText rows(mapped.text(), request_);
  std::vector<CategoryCodes> codes;
  for (const engine::ColumnInfo& column : meta_.columns) codes.emplace_back(column.categories);
  std::vector<std::vector<std::int64_t>> missing(rows.n_chunks());
  const MakeReader make = [&](std::size_t chunk) {
    return std::make_unique<ArffSparseReader>(meta_, codes, missing[chunk]);
  };
  const SparseCounts counts = rows.count(make);
  engine::DatasetMeta complete = meta_;
  for (const std::vector<std::int64_t>& of_chunk : missing)
    for (std::size_t c = 0; c < of_chunk.size(); ++c) complete.columns[c].missing += of_chunk[c];
  return rows.write(make, std::move(complete), counts, {});
}

}  // namespace kedge::server
