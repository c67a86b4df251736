// Models of other programs as stored models: loaded, asked, and made of their files.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/stored_model.h"

namespace kedge::engine {

bool is_tree_ensemble(const schema::ModelInfo& info);

// The description has been checked but for its step. Errors: kModelCorrupt.
std::unique_ptr<StoredModel> load_tree_ensemble(const Context& ctx, const ModelFile& file);

// What the file of another program becomes: the bytes of a model file, loaded once, and what it says.
struct ForeignModel {
  std::string bytes;
  schema::ModelInfo info;
};

inline constexpr std::int64_t kMostForeignBytes = std::int64_t{48} << 20;   // of its trees: it goes through a channel

// Errors: those of import_model(); kInvalidValue for trees of more than kMostForeignBytes.
ForeignModel translated(const Context& ctx, std::string_view foreign);
// nullopt: the file is none of another program. Errors: also kNotFound.
std::optional<ForeignModel> translated_file(const Context& ctx, const std::filesystem::path& file);

}   // namespace kedge::engine
