// Registered models as the API shows them, in MLflow's words: names, integer versions, aliases that move, tags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/value.h"

namespace kedge::schema {

// A stored model under a name and a number. Numbers count from 1 and never come back while the name exists.
struct ModelVersion {
  std::string name;
  std::int64_t version = 0;
  std::string model;   // id of the stored model
  std::string created = {};
  std::string description = {};
  ValueMap tags = {};                      // texts by name
  std::vector<std::string> aliases = {};   // that name this version
  friend bool operator==(const ModelVersion&, const ModelVersion&) = default;
};

struct ModelVersionPage {   // the highest version first
  std::vector<ModelVersion> versions;
  std::string nextPageToken;   // empty on the last page
  friend bool operator==(const ModelVersionPage&, const ModelVersionPage&) = default;
};

struct RegisteredModel {
  std::string name;
  std::string created = {}, updated = {};
  std::string description = {};
  ValueMap tags = {};               // texts by name
  ValueMap aliases = {};            // the version of each
  std::int64_t latestVersion = 0;   // the highest there is; 0: none
  std::int64_t versions = 0;        // how many there are
  friend bool operator==(const RegisteredModel&, const RegisteredModel&) = default;
};

struct RegisteredModelPage {   // by name
  std::vector<RegisteredModel> models;
  std::string nextPageToken;
  friend bool operator==(const RegisteredModelPage&, const RegisteredModelPage&) = default;
};

// POST /v1/registry/{name}/versions
struct NewModelVersion {
  std::string model;   // an id, or any other reference to a stored model
  std::string description = {};
  ValueMap tags = {};
  friend bool operator==(const NewModelVersion&, const NewModelVersion&) = default;
};

// PATCH of a name or a version: what is left out stays as it is, and a tag that is null is removed.
struct RegistryEdit {
  std::optional<Value> description;
  ValueMap tags = {};
  friend bool operator==(const RegistryEdit&, const RegistryEdit&) = default;
};

// PUT of an alias
struct AliasTarget {
  std::int64_t version = 0;
  friend bool operator==(const AliasTarget&, const AliasTarget&) = default;
};

}   // namespace kedge::schema
