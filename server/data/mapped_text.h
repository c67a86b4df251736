// A text file mapped read-only, for the parsers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace kedge::server {

// Owns the mapping. Errors: kInternal when the file cannot be opened or mapped.
class MappedText {
 public:
  explicit MappedText(const std::filesystem::path& path);
  ~MappedText();
  MappedText(const MappedText&) = delete;
  MappedText& operator=(const MappedText&) = delete;

  std::string_view text() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kedge::server
