// Registered models: names, versions and aliases of stored models, in MLflow's words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/registry.h"

namespace kedge {

class Transport;

// A version is a stored model under a name and a number; an alias names a version and can be moved. What a Model is
// made of may be "iris" (the alias `default`, else the highest version), "iris@champion" or "iris/3" in place of an id.
// All calls throw Error: kNotFound for what is not there, kConflict for a version that still has an alias.
class Registry {
 public:
  explicit Registry(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

  schema::RegisteredModelPage list(std::int64_t page_size = 50, std::string_view page_token = {}) const;   // by name
  schema::RegisteredModel find(std::string_view name) const;
  schema::ModelVersionPage versions(std::string_view name, std::int64_t page_size = 50,
                                    std::string_view page_token = {}) const;   // the highest first
  schema::ModelVersion version(std::string_view name, std::int64_t version) const;
  schema::ModelVersion alias(std::string_view name, std::string_view alias) const;

  // Gives a stored model the next version of a name, which the first one creates. The same model again gets the same
  // version. tags: texts by name.
  schema::ModelVersion add(std::string_view name, const schema::NewModelVersion& version) const;
  // In one step, which is on disk when this returns: requests mean either the version before or this one.
  schema::ModelVersion set_alias(std::string_view name, std::string_view alias, std::int64_t version) const;
  void remove_alias(std::string_view name, std::string_view alias) const;
  // Of the description and the tags; a tag that is null is removed.
  schema::RegisteredModel edit(std::string_view name, const schema::RegistryEdit& edit) const;
  schema::ModelVersion edit(std::string_view name, std::int64_t version, const schema::RegistryEdit& edit) const;
  void remove_version(std::string_view name, std::int64_t version) const;
  void remove(std::string_view name) const;   // with its versions and aliases; the models stay

 private:
  std::shared_ptr<Transport> transport_;   // shared: a registry may outlive its session
};

}   // namespace kedge
