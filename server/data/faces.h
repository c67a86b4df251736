// The pictures of scikit-learn's fetch_lfw_people, from its archive of one JPEG file a picture.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kedge::server {

// "MIN_FACES" or "MIN_FACES/RESIZE", as min_faces_per_person and resize; empty: 0 and 0.5.
// Errors: kInvalidValue.
void check_faces_options(std::string_view options);

// CSV with the columns pixel_0 to pixel_N, row by row of each picture, and target, the person's name; rows in the
// order of fetch_lfw_people(min_faces_per_person=MIN_FACES, resize=RESIZE), and its numbers. `archive`: tar, packed or
// not. Errors: kDatasetCorrupt; kInvalidValue where nobody has so many pictures.
void faces_table(std::string_view archive, std::string_view options,
                 const std::function<void(std::string_view)>& write);

}   // namespace kedge::server
