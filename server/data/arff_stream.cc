// Parses ARFF while its text arrives: rows go to disk in parallel, and the text is never kept as a whole.
#include "server/data/arff_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <thread>
#include <utility>

#include "engine/core/require.h"
#include "server/data/arff_header.h"
#include "server/data/arff_rows.h"
#include "server/data/arff_sparse.h"
#include "server/data/spare_texts.h"

namespace kedge::server {
namespace {

using engine::DatasetMeta;
using engine::DatasetRowsWriter;
using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kBatchBytes = std::size_t{1} << 20;          // values that a thread gathers before it writes them
constexpr std::size_t kLongestLineBytes = std::size_t{256} << 20;

// Complete lines.
struct Block {
  std::size_t index;
  std::string text;
  std::int64_t first_line, first_row;
};

Error corrupt(const std::string& source, std::int64_t line, const std::string& what) {
  return Error(ErrorCode::kDatasetCorrupt, fmt::format("{} line {}: {}", source, line, what));
}

// Calls line(begin, end) for every line; end is its line feed or the end of the text.
template <class Line>
void for_each_line(std::string_view text, const Line& line) {
  const char* const text_end = text.data() + text.size();
  for (const char* p = text.data(); p != text_end;) {
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(text_end - p));
    const char* const end = found ? static_cast<const char*>(found) : text_end;
    line(p, end);
    p = found ? end + 1 : text_end;
  }
}

}  // namespace

// One try at a text. The caller's thread cuts it, others parse it.
class ArffStream::Run {
 public:
  explicit Run(const ParseRequest& request) : request_(request) {
    const int asked = request.parallel.threads;
    n_threads_ = static_cast<std::size_t>(std::clamp(asked > 0 ? asked : static_cast<int>(std::thread::hardware_concurrency()), 1, 256));
  }

  ~Run() { close(true); }

  void write(std::string_view text) {
    check_cancelled();
    pending_.append(text);
    if (!header_done_) read_header(false);
    if (header_done_ && !writer_ && !sparse_) choose(false);
    if (sparse_) sparse_->write(std::exchange(pending_, {}));
    if (writer_ && pending_.size() >= kChunkBytes) cut();
    engine::require(pending_.size() <= kLongestLineBytes, ErrorCode::kBadData, "{}: a line of more than {} bytes", request_.source,
                    kLongestLineBytes);
  }

  DatasetMeta finish() {
    check_cancelled();
    if (!header_done_) read_header(true);
    if (!header_done_) std::rethrow_exception(failure_);
    if (!writer_ && !sparse_) choose(true);
    if (sparse_) {
      sparse_->write(pending_);
      return sparse_->finish();
    }
    if (!pending_.empty()) push(std::exchange(pending_, {}));
    close(false);
    if (failure_) std::rethrow_exception(failure_);
    check_cancelled();
    DatasetMeta& meta = writer_->meta();
    meta.n_rows = next_row_;
    for (std::size_t c = 0; c < missing_.size(); ++c) meta.columns[c].missing = missing_[c];
    if (request_.complete) request_.complete(meta);
    writer_->finish();
    return meta;
  }

 private:
  void check_cancelled() const {
    if (request_.parallel.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the job was cancelled");
  }

  // Takes lines up to @data off pending_; a wrong one ends the parsing, but not the arrival of the text.
  void read_header(bool is_all) {
    std::size_t at = 0;
    while (!failure_ && !header_done_ && at < pending_.size()) {
      const std::size_t end = pending_.find('\n', at);
      if (end == std::string::npos && !is_all) break;
      if (next_line_ == 1 && pending_.starts_with("\xEF\xBB\xBF"))
        at = 3;   // only once the whole line is here: one mark is taken off
      read_declaration(std::string_view(pending_).substr(at, end - at));
      next_line_ += end != std::string::npos;
      at = end == std::string::npos ? pending_.size() : end + 1;
    }
    pending_.erase(0, failure_ ? std::string::npos : at);
    if (is_all && !failure_ && !header_done_)
      failure_ = std::make_exception_ptr(corrupt(request_.source, next_line_, "the text ends before @data"));
  }

  void read_declaration(std::string_view line) {
    try {
      if (!header_.read_line(line)) return;
      if (header_.header().columns.empty()) throw corrupt(request_.source, next_line_ + 1, "no attribute is declared");
      describe();
      header_done_ = true;
    } catch (const CellError& error) {
      failure_ = std::make_exception_ptr(corrupt(request_.source, next_line_, error.what));
    } catch (const Error& error) {
      if (error.code == ErrorCode::kInternal) throw;
      failure_ = std::current_exception();
    }
  }

  void describe() {
    ArffHeader& header = header_.header();
    meta_ = {.name = header.relation, .is_float32 = true, .n_values_columns = header.n_values_columns};
    meta_.columns = header.columns;
    if (request_.describe) request_.describe(meta_);
  }

  // The first row shows whether rows are sparse.
  void choose(bool is_all) {
    for (std::size_t at = 0; at < pending_.size();) {
      const std::size_t end = pending_.find('\n', at);
      if (end == std::string::npos && !is_all) return;
      const char *line = pending_.data() + at, *line_end = pending_.data() + std::min(end, pending_.size());
      if (is_row(line, line_end)) {
        if (*skip_blanks(line, line_end) == '{') sparse_.emplace(request_, meta_, next_line_ - 1);
        else start();
        return;
      }
      at = end == std::string::npos ? pending_.size() : end + 1;
    }
    if (is_all) start();
  }

  void start() {
    const ArffHeader& header = header_.header();
    for (const engine::ColumnInfo& column : header.columns) codes_.emplace_back(column.categories);
    missing_.resize(header.columns.size(), 0);
    writer_.emplace(request_.output, meta_);
    for (std::size_t i = 0; i < n_threads_; ++i) threads_.emplace_back([this] { work(); });
  }

  // Hands on the complete lines of pending_.
  void cut() {
    const std::size_t end = pending_.rfind('\n') + 1;   // npos + 1 is 0
    if (end == 0) return;
    std::string rest = spare_.take();
    rest.reserve(kChunkBytes + kChunkBytes / 2);
    rest.assign(pending_, end);
    pending_.resize(end);
    push(std::exchange(pending_, std::move(rest)));
  }

  void push(std::string text) {
    Block block{.index = n_blocks_++, .text = std::move(text), .first_line = next_line_, .first_row = next_row_};
    for_each_line(block.text, [&](const char* p, const char* end) { ++next_line_, next_row_ += is_row(p, end); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, request_.parallel.stop, [&] { return failure_ || queue_.size() < 2 * n_threads_ + 2; });
    check_cancelled();
    if (is_fatal_) std::rethrow_exception(failure_);
    if (failure_) return;   // nothing behind it matters
    queue_.push_back(std::move(block));
    lock.unlock();
    changed_.notify_all();
  }

  void close(bool drop) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (drop) queue_.clear();
    }
    changed_.notify_all();
    threads_.clear();   // joins
  }

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Block block = std::move(queue_.front());
      queue_.pop_front();
      const bool wanted = !failure_ || block.index < failed_block_;
      lock.unlock();
      changed_.notify_all();
      if (wanted) parse_block(block);
      spare_.give(std::move(block.text));
    }
  }

  // Blocks are taken in order, so all before a failed one are worked on, and the earliest failure is found in any order
  // of the threads.
  void parse_block(const Block& block) {
    try {
      while (!try_block(block)) widen();
    } catch (const CellError& error) {
      const auto line = block.first_line + std::count(block.text.data(), error.at, '\n');
      fail(block.index, std::make_exception_ptr(corrupt(request_.source, line, error.what)), false);
    } catch (...) {
      fail(block.index, std::current_exception(), true);
    }
  }

  // False when float32 cannot hold what is in the block.
  bool try_block(const Block& block) {
    const std::shared_lock layout(layout_);
    if (!writer_->meta().is_float32) return read_rows<double>(block), true;
    if (wide_wanted_) return false;
    try {
      return read_rows<float>(block), true;
    } catch (const NeedsFloat64&) {
      wide_wanted_ = true;
      return false;
    }
  }

  void widen() {
    const std::unique_lock layout(layout_);
    if (!writer_->meta().is_float32) return;
    const std::unique_lock rows(rows_mutex_);
    writer_->widen(rows_seen_);
  }

  template <class T>
  void read_rows(const Block& block) {
    const std::size_t width = static_cast<std::size_t>(writer_->meta().n_values_columns);
    const std::size_t batch = std::max<std::size_t>(1, kBatchBytes / sizeof(T) / std::max<std::size_t>(1, width));
    RowReader<T> reader(writer_->meta().columns, codes_, static_cast<std::int64_t>(width));
    const auto values = std::make_unique_for_overwrite<T[]>(batch * width);
    std::size_t filled = 0;
    std::int64_t row = block.first_row;
    const auto flush = [&] {
      writer_->write(row, std::span<const T>(values.get(), filled * width));
      row += static_cast<std::int64_t>(std::exchange(filled, 0));
    };
    for_each_line(block.text, [&](const char* p, const char* end) {
      if (!is_row(p, end)) return;
      reader.read(p, end, values.get() + filled * width);
      if (++filled == batch) flush();
    });
    flush();
    const std::lock_guard lock(rows_mutex_);
    rows_seen_ = std::max(rows_seen_, row);
    for (std::size_t c = 0; c < missing_.size(); ++c) missing_[c] += reader.missing()[c];
  }

  void fail(std::size_t block, std::exception_ptr failure, bool is_fatal) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_ && failed_block_ < block && !is_fatal) return;
      failure_ = std::move(failure), failed_block_ = block, is_fatal_ |= is_fatal;
    }
    changed_.notify_all();
  }

  const ParseRequest& request_;
  std::size_t n_threads_;
  // Of the caller's thread.
  std::string pending_;
  SpareTexts spare_;   // of blocks
  ArffHeaderReader header_;
  bool header_done_ = false;
  DatasetMeta meta_;                   // what the header says
  std::optional<SparseArff> sparse_;   // takes all rows where they are sparse
  std::size_t n_blocks_ = 0;
  std::int64_t next_line_ = 1, next_row_ = 0;
  // Set before the threads start.
  std::vector<CategoryCodes> codes_;
  std::optional<DatasetRowsWriter> writer_;
  // Held shared to write rows, exclusively to change their type.
  std::shared_mutex layout_;
  std::atomic<bool> wide_wanted_ = false;
  std::mutex rows_mutex_;
  std::int64_t rows_seen_ = 0;          // guarded by rows_mutex_, as the next: rows that may be on disk lie below
  std::vector<std::int64_t> missing_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Block> queue_;             // guarded by mutex_, as all below
  bool closed_ = false, is_fatal_ = false;
  std::exception_ptr failure_;
  std::size_t failed_block_ = 0;
  std::vector<std::jthread> threads_;
};

ArffStream::ArffStream(const ParseRequest& request) : request_(request), run_(std::make_unique<Run>(request)) {}

ArffStream::~ArffStream() = default;

void ArffStream::restart() {
  run_.reset();   // before the next one: both would write the same unfinished file
  run_ = std::make_unique<Run>(request_);
}

void ArffStream::write(std::string_view text) { run_->write(text); }

engine::DatasetMeta ArffStream::finish() { return run_->finish(); }

}  // namespace kedge::server
