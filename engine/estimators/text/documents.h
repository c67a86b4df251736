// The documents that samples hold: one column of texts, each text once however many rows have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/estimators/samples.h"
#include "engine/estimators/text/host_rows.h"

namespace kedge::engine {

// An estimator that reads texts: a column of categories, each category a text. Beside Estimator<T>.
class ReadsTexts {
 public:
  virtual ~ReadsTexts() = default;
  // The columns of the samples that fit() got whose categories it took as texts; a model takes any text for them.
  virtual std::vector<std::int64_t> text_columns() const { return {0}; }
};

// A transformer that makes too many columns to name each in a table, but knows their names.
class NamesOutputs {
 public:
  virtual ~NamesOutputs() = default;
  virtual std::vector<std::string> output_names() const = 0;
};

namespace text {

// The rows of samples as documents. Borrows the texts of the table.
struct Documents {
  std::vector<std::string_view> texts;   // those that rows have, in the order in which rows bring them
  std::vector<std::int32_t> of_row;      // place of each row's text
  std::vector<std::int64_t> n_rows;      // of each text, how many rows have it
  bool is_one_each() const { return texts.size() == of_row.size(); }   // row i has text i
  std::int64_t bytes() const;
};

// A missing cell is an empty document. Waits for the device: a number for each row. Errors: kBadData for more than one
// column, and for one that has no texts.
template <class T>
Documents documents_of(const Context& ctx, std::string_view owner, const Samples<T>& X);

// The errors alone.
template <class T>
void require_texts(std::string_view owner, const Samples<T>& X);

// A row for each row of the samples, of one for each text.
template <class T>
HostRows<T> of_all_rows(const Documents& documents, HostRows<T> of_texts);

}   // namespace text
}   // namespace kedge::engine
