// The registry of models: names, versions and aliases, and what a reference to a model means.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/job.h"
#include "schemas/registry.h"
#include "server/store/store.h"

namespace kedge::server {

// A reference to a stored model is its id, or "NAME", "NAME@ALIAS" or "NAME/VERSION" of the caller's tenant. A name
// alone means its alias `default`, else its highest version. Thread safe; calls read or write the store. Those that
// write return when that is on disk, and references mean the new thing from then on, also after a crash.
// Errors of all: kNotFound for a name, version, alias or model that is not there; kInvalidValue, with the field, for a
// name, alias, description or tag that is not allowed.
class ModelRegistry {
 public:
  virtual ~ModelRegistry() = default;

  // The id of the model that is meant. An id is returned as it is, whether or not there is such a model.
  virtual std::string resolve(const std::string& tenant, std::string_view reference) const = 0;

  // The same, with the version, from memory alone; unset: it has to be looked up.
  struct Meaning {
    std::string model;
    std::int64_t version = 0;   // 0: of an id
  };
  virtual std::optional<Meaning> known(const std::string& tenant, std::string_view reference) const = 0;

  virtual schema::RegisteredModelPage list(const std::string& tenant, std::int64_t page_size,
                                           std::string_view token) const = 0;
  virtual schema::RegisteredModel find(const std::string& tenant, std::string_view name) const = 0;
  // before: a version; 0: from the highest.
  virtual schema::ModelVersionPage versions(const std::string& tenant, std::string_view name, std::int64_t page_size,
                                            std::int64_t before) const = 0;
  virtual schema::ModelVersion version(const std::string& tenant, std::string_view name,
                                       std::int64_t version) const = 0;
  virtual schema::ModelVersion alias(const std::string& tenant, std::string_view name,
                                     std::string_view alias) const = 0;

  // Errors: kConflict when the name can have no further version, or the tenant no further name.
  virtual void require_room(const std::string& tenant, std::string_view name) const = 0;
  // `model` is an id. A model that has a version of this name gets that one again; then is_new is false.
  struct Registered {
    schema::ModelVersion version;
    bool is_new = true;
  };
  virtual Registered add(const std::string& tenant, std::string_view name, schema::NewModelVersion version) = 0;
  virtual schema::ModelVersion set_alias(const std::string& tenant, std::string_view name, std::string_view alias,
                                         std::int64_t version) = 0;
  virtual void remove_alias(const std::string& tenant, std::string_view name, std::string_view alias) = 0;
  virtual schema::RegisteredModel edit(const std::string& tenant, std::string_view name,
                                       const schema::RegistryEdit& edit) = 0;
  virtual schema::ModelVersion edit_version(const std::string& tenant, std::string_view name, std::int64_t version,
                                            const schema::RegistryEdit& edit) = 0;
  virtual void remove_version(const std::string& tenant, std::string_view name,
                              std::int64_t version) = 0;                       // kConflict while an alias names it
  virtual void remove(const std::string& tenant, std::string_view name) = 0;   // with versions and aliases; models stay
};

// What a job's `register` must be: a name, in a job that stores a model. Errors: kInvalidValue, at "register".
void check_registration(const schema::JobSpec& spec);

// The store outlives it.
std::unique_ptr<ModelRegistry> make_model_registry(Store& store);

}   // namespace kedge::server
