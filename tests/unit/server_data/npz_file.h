// Makes .npy arrays and .npz files, whole ones and damaged ones.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

// As numpy.save writes it: the header padded with spaces to a multiple of 64.
inline std::string npy_bytes(const std::string& descr, const std::string& shape, const std::string& data,
                             bool fortran = false, int version = 1) {
  std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  const std::size_t width = version == 1 ? 2 : 4;
  while ((8 + width + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string head = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (std::size_t i = 0; i < width; ++i) head += static_cast<char>(dict.size() >> 8 * i & 255);
  return head + dict + data;
}

template <class T>
std::string raw_bytes(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

// Of one length each, in UTF-32.
inline std::string npy_texts_of(std::initializer_list<std::string_view> texts, std::size_t width) {
  std::string data;
  for (const std::string_view text : texts)
    for (std::size_t i = 0; i < width; ++i) data += std::string{i < text.size() ? text[i] : '\0', '\0', '\0', '\0'};
  return npy_bytes("<U" + std::to_string(width), "(" + std::to_string(texts.size()) + ",)", data);
}

// A ZIP of arrays. Its entries may be changed before it is written.
class NpzFile {
 public:
  NpzFile& add(const std::string& name, const std::string& content, bool deflate = false) {
    entries_.push_back(
        {.name = name + ".npy",
         .size = content.size(),
         .packed = deflate ? deflated(content) : content,
         .method = deflate ? 8 : 0,
         .crc = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()))});
    return *this;
  }

  struct Entry {
    std::string name;
    std::uint64_t size = 0;
    std::string packed;
    int method = 0;
    std::uint64_t crc = 0;
    int flags = 0;
  };
  std::vector<Entry>& entries() { return entries_; }

  // With ZIP64 the sizes and places are in its fields alone.
  std::string bytes(bool zip64 = false) const {
    std::string file, directory;
    for (const Entry& entry : entries_) {
      const std::uint64_t offset = file.size();
      file += "PK\x03\x04" + le(20, 2) + le(entry.flags, 2) + le(entry.method, 2) + le(0, 4) + le(entry.crc, 4) +
              le(entry.packed.size(), 4) + le(entry.size, 4) + le(entry.name.size(), 2) + le(0, 2) + entry.name +
              entry.packed;
      const std::string extra =
          zip64 ? le(1, 2) + le(24, 2) + le(entry.size, 8) + le(entry.packed.size(), 8) + le(offset, 8) : "";
      const auto place = [&](std::uint64_t value) { return le(zip64 ? 0xFFFFFFFF : value, 4); };
      directory += "PK\x01\x02" + le(20, 2) + le(20, 2) + le(entry.flags, 2) + le(entry.method, 2) + le(0, 4) +
                   le(entry.crc, 4) + place(entry.packed.size()) + place(entry.size) + le(entry.name.size(), 2) +
                   le(extra.size(), 2) + le(0, 2) + le(0, 2) + le(0, 2) + le(0, 4) + place(offset) + entry.name + extra;
    }
    const std::uint64_t begin = file.size(), count = entries_.size();
    file += directory;
    if (zip64) {
      const std::uint64_t at = file.size();
      file += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 4) + le(0, 4) + le(count, 8) + le(count, 8) +
              le(directory.size(), 8) + le(begin, 8);
      file += "PK\x06\x07" + le(0, 4) + le(at, 8) + le(1, 4);
    }
    return file + "PK\x05\x06" + le(0, 2) + le(0, 2) + le(zip64 ? 0xFFFF : count, 2) + le(zip64 ? 0xFFFF : count, 2) +
           le(zip64 ? 0xFFFFFFFF : directory.size(), 4) + le(zip64 ? 0xFFFFFFFF : begin, 4) + le(0, 2);
  }

 private:
  static std::string le(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255);
    return text;
  }

  static std::string deflated(const std::string& content) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, content.size()) + 16, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data())),
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data()), stream.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
  }

  std::vector<Entry> entries_;
};

}   // namespace kedge::server
