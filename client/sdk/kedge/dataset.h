// Data sets by name: the server fetches them itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schemas/dataset.h"

namespace kedge {

// A reference and the part of it that a job wants. Each call returns a changed copy; see schema::Select for the meaning.
class Dataset {
 public:
  explicit Dataset(schema::DatasetRef ref) : ref_(std::move(ref)) {}

  Dataset rows(std::int64_t n) const { Dataset d = *this; d.select_.rows = n; return d; }
  Dataset columns(std::vector<std::string> names) const { Dataset d = *this; d.select_.columns = std::move(names); return d; }
  Dataset target(std::string name) const { Dataset d = *this; d.select_.target = std::move(name); return d; }
  Dataset dtype(std::string name) const { Dataset d = *this; d.select_.dtype = std::move(name); return d; }
  Dataset weights(std::string column) const { Dataset d = *this; d.select_.weights = std::move(column); return d; }
  Dataset groups(std::string column) const { Dataset d = *this; d.select_.groups = std::move(column); return d; }
  Dataset scale(double factor) const { Dataset d = *this; d.select_.scale = factor; return d; }

  Dataset na_values(std::vector<std::string> texts) const { Dataset d = *this; d.select_.naValues = std::move(texts); return d; }
  Dataset keep_default_na(bool keep) const { Dataset d = *this; d.select_.keepDefaultNa = keep; return d; }
  // "number", "category", "date", "date:parts", "drop"; a call for each column.
  Dataset type(std::string column, std::string name) const {
    Dataset d = *this;
    d.select_.types.emplace_back(std::move(column), std::move(name));
    return d;
  }

  const schema::DatasetRef& ref() const { return ref_; }
  const schema::Select& select() const { return select_; }

 private:
  schema::DatasetRef ref_;
  schema::Select select_;
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
// A CSV, ARFF or libsvm file that the server downloads; format "csv", "arff" or "libsvm", sha256 in hex or empty.
inline Dataset url(std::string address, std::string format = "csv", std::string sha256 = {}) {
  return Dataset({schema::UrlRef{.url = std::move(address), .format = std::move(format), .sha256 = std::move(sha256)}});
}
// A small CSV text with a header line, sent with the job.
inline Dataset inline_csv(std::string csv) { return Dataset({schema::InlineRef{.csv = std::move(csv)}}); }

}  // namespace kedge
