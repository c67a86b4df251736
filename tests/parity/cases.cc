// The list of all cases, of every family of rows.
#include "tests/parity/cases.h"

#include "tests/parity/batch_rows.h"
#include "tests/parity/embedding_rows.h"
#include "tests/parity/factor_rows.h"
#include "tests/parity/merge_rows.h"
#include "tests/parity/mixture_rows.h"
#include "tests/parity/probe.h"
#include "tests/parity/svm_rows.h"

namespace kedge::parity {
namespace {

template <class T>
Case case_of(const Row<T>& row, const Shape& shape, const char* dtype) {
  const auto run = [row, shape](engine::Device& device, const LaunchWatch& launches) {
    Findings findings;
    Probe<T> probe(device, shape, row.tolerance, launches);
    row.check(probe);
    return findings.take();
  };
  return {row.op, dtype, shape, run};
}

template <class T>
void append(std::vector<Case>& cases, const char* dtype, const std::vector<Row<T>>& rows) {
  for (const Row<T>& row : rows)
    for (const Shape& shape : row.shapes) cases.push_back(case_of(row, shape, dtype));
}

template <class T>
void append_all(std::vector<Case>& cases, const char* dtype) {
  append(cases, dtype, table_rows<T>());
  append(cases, dtype, linear_rows<T>());
  append(cases, dtype, factor_rows<T>());
  append(cases, dtype, mixture_rows<T>());
  append(cases, dtype, regression_rows<T>());
  append(cases, dtype, row_rows<T>());
  append(cases, dtype, neighbour_rows<T>());
  append(cases, dtype, cluster_rows<T>());
  append(cases, dtype, index_rows<T>());
  append(cases, dtype, merge_rows<T>());
  append(cases, dtype, category_rows<T>());
  append(cases, dtype, tree_rows<T>());
  append(cases, dtype, column_rows<T>());
  append(cases, dtype, sparse_rows<T>());
  append(cases, dtype, network_rows<T>());
}

}   // namespace

std::string Case::name() const {
  return op + "/" + std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + "x" + std::to_string(shape.k);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  append_all<float>(cases, "float32");
  append_all<double>(cases, "float64");
  for (Case& one : embedding_cases()) cases.push_back(std::move(one));
  for (Case& one : svm_cases()) cases.push_back(std::move(one));
  for (Case& one : batch_cases()) cases.push_back(std::move(one));
  return cases;
}

}   // namespace kedge::parity
