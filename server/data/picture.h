// Pictures of pixels: read from JPEG, cut and made smaller as Pillow does it, byte for byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

// Three bytes a pixel (red, green, blue), row by row.
struct Picture {
  int width = 0, height = 0;
  std::vector<unsigned char> bytes;
};

struct Box {
  int left = 0, top = 0, width = 0, height = 0;
};

// `what` names the file in messages. Errors: kDatasetCorrupt for what is no JPEG file or has more than `most_pixels`.
Picture read_jpeg(std::string_view file, int most_pixels, const std::string& what);

// The box lies within the picture.
Picture cut(const Picture& picture, const Box& box);

// Image.resize((width, height)) of Pillow: bicubic, over all pixels that a smaller one covers.
Picture resized(const Picture& picture, int width, int height);

}   // namespace kedge::server
