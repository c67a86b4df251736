// What must hold for every value that a decoder accepts: encoding it and decoding that gives the same again,
// in both forms.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "schemas/codec.h"

namespace kedge::schema {

// Text and bytes are compared, not values: NaN differs from itself.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fputs(what, stderr);
  std::abort();
}

template <class T>
void require_json_identity(const T& value) {
  const std::string json = to_json(value);
  require(to_json(from_json<T>(json)) == json, "JSON changed on its second way through\n");
}

template <class T>
void require_binary_identity(const T& value) {
  const auto bytes = to_binary(value);
  require(to_binary(from_binary<T>(bytes)) == bytes, "the message changed on its second way through\n");
}

}  // namespace kedge::schema
