// Looks up the texts of rows among the categories of their column.
#include "engine/estimators/text/documents.h"

#include <cmath>
#include <unordered_map>

#include "engine/core/require.h"

namespace kedge::engine::text {

std::int64_t Documents::bytes() const {
  std::int64_t sum = 0;
  for (const std::string_view text : texts) sum += static_cast<std::int64_t>(text.size());
  return sum;
}

template <class T>
void require_texts(std::string_view owner, const Samples<T>& X) {
  require(X.n_cols() == 1, schema::ErrorCode::kBadData,
          "{}: takes one column of texts, got {} columns: name it in select.columns, or in a ColumnTransformer", owner,
          X.n_cols());
  const bool has_texts = !X.table->features.empty() && X.table->features[0].is_nominal;
  require(has_texts, schema::ErrorCode::kBadData,
          "{}: column {} holds numbers, or missing cells alone; must hold texts", owner, X.table->column_label(0));
}

template <class T>
Documents documents_of(const Context& ctx, std::string_view owner, const Samples<T>& X) {
  require_texts(owner, X);
  const std::vector<std::string>& categories = X.table->features[0].categories;
  const std::vector<double> codes = host_values(ctx, X);
  Documents documents;
  documents.of_row.reserve(codes.size()), documents.texts.reserve(codes.size()), documents.n_rows.reserve(codes.size());
  std::vector<std::int32_t> places(categories.size() + 1, -1);   // the last: of missing cells
  for (const double code : codes) {
    const std::size_t category = std::isnan(code) ? categories.size() : static_cast<std::size_t>(code);
    std::int32_t& place = places.at(category);
    if (place < 0) {
      place = static_cast<std::int32_t>(documents.texts.size());
      documents.texts.push_back(category < categories.size() ? std::string_view(categories[category])
                                                             : std::string_view());
      documents.n_rows.push_back(0);
    }
    documents.of_row.push_back(place);
    ++documents.n_rows[static_cast<std::size_t>(place)];
  }
  return documents;
}

template <class T>
HostRows<T> of_all_rows(const Documents& documents, HostRows<T> of_texts) {
  if (documents.is_one_each()) return of_texts;
  HostRows<T> rows{.cols = of_texts.cols};
  rows.offsets.reserve(documents.of_row.size() + 1);
  for (const std::int32_t place : documents.of_row) {
    const std::int64_t begin = of_texts.offsets[static_cast<std::size_t>(place)],
                       end = of_texts.offsets[static_cast<std::size_t>(place) + 1];
    rows.columns.insert(rows.columns.end(), of_texts.columns.begin() + begin, of_texts.columns.begin() + end);
    rows.values.insert(rows.values.end(), of_texts.values.begin() + begin, of_texts.values.begin() + end);
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

#define KEDGE_INSTANTIATE(T)                                                            \
  template Documents documents_of(const Context&, std::string_view, const Samples<T>&); \
  template void require_texts(std::string_view, const Samples<T>&);                     \
  template HostRows<T> of_all_rows(const Documents&, HostRows<T>);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine::text
