// Data sets by name: the server fetches them itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kedge/select_calls.h"
#include "schemas/dataset.h"

namespace kedge {

// A reference and the part of it that a job wants: rows(), columns(), target() and so on, a call for each field of schema::Select.
class Dataset : public SelectCalls<Dataset> {
 public:
  explicit Dataset(schema::DatasetRef ref) : ref_(std::move(ref)) {}

  const schema::DatasetRef& ref() const { return ref_; }

 private:
  schema::DatasetRef ref_;
};

// OpenML, by name and version (0: the newest active one), or by id.
inline Dataset openml(std::string name, std::int64_t version = 0) {
  return Dataset({schema::OpenmlRef{.name = std::move(name), .version = version}});
}
inline Dataset openml(std::int64_t id) { return Dataset({schema::OpenmlRef{.id = id}}); }
// Inside the server: digits, iris, wine, breast_cancer, diabetes, mnist_10k.
inline Dataset builtin(std::string name) { return Dataset({schema::BuiltinRef{std::move(name)}}); }
// An upload, by the name that it was stored under, or by "sha256:" and its digest.
inline Dataset stored(std::string name) { return Dataset({schema::StoredRef{std::move(name)}}); }
// Made by the server as scikit-learn makes it: generate("make_blobs", {{"n_samples", 1000}, {"random_state", 7}}).
inline Dataset generate(std::string name, schema::ValueMap params = {}) {
  return Dataset({schema::GenerateRef{std::move(name), std::move(params)}});
}
// A CSV, ARFF, libsvm, Parquet or Arrow file that the server downloads; format "csv", "arff", "libsvm", "parquet" or
// "arrow", sha256 in hex or empty.
inline Dataset url(std::string address, std::string format = "csv", std::string sha256 = {}) {
  return Dataset({schema::UrlRef{.url = std::move(address), .format = std::move(format), .sha256 = std::move(sha256)}});
}
// Files of the same columns as one table of their rows, in this order: http:// and https:// addresses.
inline Dataset urls(std::vector<std::string> addresses, std::string format = "csv") {
  return Dataset({schema::UrlRef{.format = std::move(format), .urls = std::move(addresses)}});
}
// What scikit-learn's fetch_ function of that name fetches: covtype, california_housing, 20newsgroups, rcv1/CCAT ...
inline Dataset sklearn_dataset(std::string name) {
  return Dataset({schema::SklearnRef{std::move(name)}});
}
// A small CSV text with a header line, sent with the job.
inline Dataset inline_csv(std::string csv) { return Dataset({schema::InlineRef{.csv = std::move(csv)}}); }

}  // namespace kedge
