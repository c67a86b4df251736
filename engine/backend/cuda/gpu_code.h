// Whether a plug-in that was built for certain architectures has code for a GPU.
#pragma once

#include <string>
#include <string_view>

namespace kedge::engine {

// `built` as CMake lists architectures, with semicolons or commas: "75-real;90;120-virtual"; without a suffix there is
// code and PTX. Code of X.Y runs on X.Z, Z >= Y; PTX of X.Y on everything from X.Y on. (Source: CUDA C++ Programming
// Guide, "Compatibility".) Empty: there is code for capability major.minor, or nothing is known of the build; else why
// not.
std::string missing_code(std::string_view built, int major, int minor);

}   // namespace kedge::engine
