// Decodes by libjpeg-turbo; resampling in fixed point, first along rows and then along columns, each rounded to bytes.
#include "server/data/picture.h"

#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr int kBytes = 3;   // of a pixel
constexpr int kBits = 22;   // of a weight's fraction

double bicubic(double x) {
  constexpr double kSharpness = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kSharpness + 2.0) * x - (kSharpness + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kSharpness;
  return 0.0;
}

// What one new pixel is made of.
struct Weights {
  int first = 0;
  std::vector<int> of;   // fixed point; they sum to 1
};

std::vector<Weights> weights_of(int from, int to) {
  const double scale = static_cast<double>(from) / to, stretch = std::max(scale, 1.0), support = 2.0 * stretch;
  const double shrink = 1.0 / stretch;
  std::vector<Weights> all;
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
    const int end = std::min(static_cast<int>(centre + support + 0.5), from);
    std::vector<double> exact;
    double sum = 0.0;
    for (int p = first; p < end; ++p) sum += exact.emplace_back(bicubic((p - centre + 0.5) * shrink));
    Weights& weights = all.emplace_back(Weights{.first = first, .of = {}});
    for (const double weight : exact) weights.of.push_back(static_cast<int>(std::round(weight / sum * (1 << kBits))));
  }
  return all;
}

// Along rows: `stride` bytes from pixel to pixel, `lines` of them, `next` bytes from one to the next.
struct Walk {
  std::size_t lines, next, stride;
};

void resample(const std::vector<Weights>& weights, const unsigned char* from, const Walk& read, unsigned char* to,
              const Walk& write) {
  for (std::size_t line = 0; line < read.lines; ++line)
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t byte = 0; byte < kBytes; ++byte) {
        const unsigned char* at =
            from + line * read.next + static_cast<std::size_t>(weights[i].first) * read.stride + byte;
        int sum = 1 << (kBits - 1);
        for (const int weight : weights[i].of) sum += weight * *at, at += read.stride;
        to[line * write.next + i * write.stride + byte] = static_cast<unsigned char>(std::clamp(sum >> kBits, 0, 255));
      }
}

Picture blank(int width, int height) {
  return {
      .width = width,
      .height = height,
      .bytes = std::vector<unsigned char>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * kBytes)};
}

std::size_t row_bytes(const Picture& picture) {
  return static_cast<std::size_t>(picture.width) * kBytes;
}

}   // namespace

Picture read_jpeg(std::string_view file, int most_pixels, const std::string& what) {
  const std::unique_ptr<void, int (*)(void*)> reader(tjInitDecompress(), tjDestroy);
  require(reader != nullptr, ErrorCode::kInternal, "{}: libjpeg cannot start", what);
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  const int header = tjDecompressHeader3(reader.get(), bytes, file.size(), &width, &height, &sampling, &colours);
  require(header == 0 && width > 0 && height > 0, ErrorCode::kDatasetCorrupt, "{}: no JPEG file: {}", what,
          tjGetErrorStr2(reader.get()));
  require(std::int64_t{width} * height <= most_pixels, ErrorCode::kDatasetCorrupt,
          "{}: a picture of {} x {} pixels, must have at most {}", what, width, height, most_pixels);
  Picture picture = blank(width, height);
  const int decoded = tjDecompress2(reader.get(), bytes, file.size(), picture.bytes.data(), width, 0, height, TJPF_RGB,
                                    TJFLAG_ACCURATEDCT);
  require(decoded == 0, ErrorCode::kDatasetCorrupt, "{}: a damaged JPEG file: {}", what, tjGetErrorStr2(reader.get()));
  return picture;
}

Picture cut(const Picture& picture, const Box& box) {
  Picture out = blank(box.width, box.height);
  for (int row = 0; row < box.height; ++row)
    std::copy_n(picture.bytes.data() + static_cast<std::size_t>(box.top + row) * row_bytes(picture) +
                    static_cast<std::size_t>(box.left) * kBytes,
                row_bytes(out), out.bytes.data() + static_cast<std::size_t>(row) * row_bytes(out));
  return out;
}

Picture resized(const Picture& picture, int width, int height) {
  Picture out = picture;
  if (width != out.width) {
    Picture next = blank(width, out.height);
    const auto lines = static_cast<std::size_t>(out.height);
    resample(weights_of(out.width, width), out.bytes.data(), {lines, row_bytes(out), kBytes}, next.bytes.data(),
             {lines, row_bytes(next), kBytes});
    out = std::move(next);
  }
  if (height != out.height) {
    Picture next = blank(width, height);
    const auto lines = static_cast<std::size_t>(width);
    resample(weights_of(out.height, height), out.bytes.data(), {lines, kBytes, row_bytes(out)}, next.bytes.data(),
             {lines, kBytes, row_bytes(next)});
    out = std::move(next);
  }
  return out;
}

}   // namespace kedge::server
