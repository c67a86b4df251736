// What the server offers: estimators with their parameters, devices, versions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "schemas/value.h"

namespace kedge::schema {

struct ParamInfo;

// One form that a parameter's value may take. A parameter has one or more ("sqrt" | "log2" | integer | number | null).
struct ParamForm {
  enum class Type { kNull, kBoolean, kInteger, kNumber, kString, kObject, kArray };
  Type type = Type::kNull;
  std::optional<double> minimum, maximum;
  bool exclusiveMinimum = false, exclusiveMaximum = false;
  std::vector<std::string> choices;   // for strings: the only ones accepted, if not empty
  std::vector<ParamForm> items;       // for arrays: the forms of an element; empty: numbers
  std::vector<ParamInfo> fields;      // for objects: the known keys, if not empty; those without a null form must be there
  friend bool operator==(const ParamForm&, const ParamForm&);
};

struct ParamInfo {
  std::string name;
  std::string doc;
  Value defaultValue;
  std::vector<ParamForm> forms;
  friend bool operator==(const ParamInfo&, const ParamInfo&) = default;
};
// Written out: clang 19 does not survive a defaulted one of a type that holds vectors of itself.
inline bool operator==(const ParamForm& a, const ParamForm& b) {
  const auto fields = [](const ParamForm& f) {
    return std::tie(f.type, f.minimum, f.maximum, f.exclusiveMinimum, f.exclusiveMaximum, f.choices, f.items, f.fields);
  };
  return fields(a) == fields(b);
}

struct EstimatorInfo {   // transformer, classifier, regressor, clusterer, neighbors, covariance, detector or density
  std::string name;                     // as in scikit-learn
  std::string kind;                     // one of those above
  std::string family;                   // scikit-learn module: "ensemble", "linear_model", ...
  std::string doc;
  std::vector<ParamInfo> params;
  std::vector<std::string> attributes;  // fitted attributes in results
  std::vector<std::string> deviations;  // from scikit-learn, a sentence each
  std::string hostPart;   // what the host computes, though the device is a GPU, with each row; empty: nothing
  friend bool operator==(const EstimatorInfo&, const EstimatorInfo&) = default;
};

struct Catalogue {
  std::vector<EstimatorInfo> estimators;
  friend bool operator==(const Catalogue&, const Catalogue&) = default;
};

struct DeviceEntry {   // one device, or the reason why a kind of device is missing
  std::string id;            // "cpu", "cuda:0", or "cuda" with `missing` set
  std::string name;
  std::string driver;
  std::int64_t threads = 0;
  std::int64_t memoryBytes = 0;
  std::string missing;       // why it cannot be used; empty when it can
  friend bool operator==(const DeviceEntry&, const DeviceEntry&) = default;
};

struct DeviceList {
  std::vector<DeviceEntry> devices;
  friend bool operator==(const DeviceList&, const DeviceList&) = default;
};

struct ServerInfo {
  std::string name = "kedge";
  std::string version;
  std::vector<DeviceEntry> devices;
  std::vector<std::string> builtinDatasets;
  std::vector<std::string> scorers;
  friend bool operator==(const ServerInfo&, const ServerInfo&) = default;
};

}  // namespace kedge::schema
