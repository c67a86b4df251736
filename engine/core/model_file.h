// A stored model on disk: a header, raw tensors, the state that names them, and a description. No code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "schemas/model.h"

namespace kedge::engine {

// Layout (all little-endian, every part padded with zeros to kModelAlignment):
//   header       64 bytes: magic, version, byte order, sizes, checksum (model_file.cc)
//   tensors      one after the other, in the order in which the state names them
//   state        records of StateArchive
//   description  a schema::ModelInfo as a Cap'n Proto message
inline constexpr std::size_t kModelAlignment = 64;
inline constexpr std::size_t padded_size(std::size_t bytes) {
  return (bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
}

// Read side; the bytes are mapped, or borrowed. Immutable, any number of threads may read. Errors of the constructors:
// kModelCorrupt for what is not a model, is cut short or has a bit turned over anywhere, and for a version that is not known;
// kNotFound when the file is not there.
class ModelFile {
 public:
  explicit ModelFile(const std::filesystem::path& path);
  explicit ModelFile(std::span<const std::byte> borrowed);   // at an address that is a multiple of 64
  ~ModelFile();
  ModelFile(ModelFile&&) noexcept;

  const schema::ModelInfo& info() const;
  std::span<const std::byte> tensors() const;
  std::span<const std::byte> state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Write side. Without finish() nothing is left behind. Errors: kInternal with the system's words.
class ModelFileWriter {
 public:
  // The file is replaced if it is there. A model of at most `keep` bytes has none: finish() returns it.
  explicit ModelFileWriter(const std::filesystem::path& path, std::size_t keep = 0);
  ~ModelFileWriter();
  ModelFileWriter(ModelFileWriter&&) noexcept;

  void add_tensor(std::span<const std::byte> values);
  std::string& state();
  // With a file: an empty string, and the file is whole; its caller renames and syncs it. Without: the whole model.
  std::string finish(const schema::ModelInfo& info);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes the checksum of the rest of the file into its header: for tests that damage a file on purpose and want to pass
// the check of the checksum. Does nothing to less than a header.
void seal_model(std::span<std::byte> file);

}  // namespace kedge::engine
