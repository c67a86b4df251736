// Tf-idf: counts weighted by how few documents have a term, and rows of norm 1.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/host_rows.h"

namespace kedge::engine::text {

// A value.
struct TfidfParams {
  schema::Value norm = "l2";
  bool use_idf = true, smooth_idf = true, sublinear_tf = false;
};

template <class P>
void add_tfidf_params(ParamSet<P>& set) {
  set.any("norm", member_of<P>(&P::norm), {string_form({"l1", "l2"}), null_form()},
          "The norm of each row that becomes 1; null leaves rows alone.")
      .add("use_idf", member_of<P>(&P::use_idf), "Weight terms by the inverse of their document frequency.")
      .add("smooth_idf", member_of<P>(&P::smooth_idf), "Count one more document that has every term.")
      .add("sublinear_tf", member_of<P>(&P::sublinear_tf), "Replace a count by 1 + log(count).");
}

// log(documents / documents with the term) + 1, rounded to T as scikit-learn computes it.
template <class T>
std::vector<double> inverse_frequencies(const TfidfParams& params, std::int64_t n_rows,
                                        const std::vector<std::int64_t>& n_rows_with);

// Weights rows in place. `idf` is empty where there is none.
template <class T>
void weigh(const TfidfParams& params, const std::vector<double>& idf, HostRows<T>& rows);

// scikit-learn's normalize(): sums in double, rows of zeros stay. norm: "l1", "l2" or null.
template <class T>
void scale_rows(const schema::Value& norm, HostRows<T>& rows);

}   // namespace kedge::engine::text
