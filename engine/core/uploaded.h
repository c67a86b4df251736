// Host values where ops can read them.
#pragma once

#include <cstdint>
#include <span>

#include "engine/core/array.h"
#include "engine/core/context.h"

namespace kedge::engine {

// The host's values themselves where the device uses the host's memory, elsewhere a copy on the device. Borrows them
// and the device; may be moved.
template <class T>
class Uploaded {
 public:
  Uploaded(const Context& ctx, std::span<const T> host) : view_(host.data(), static_cast<std::int64_t>(host.size())) {
    if (ctx.device.traits().uses_host_memory) return;
    copy_ = Array<T>(ctx.memory(), host);
    view_ = std::as_const(copy_).view();
  }
  VectorView<const T> view() const { return view_; }
  // As a row-major matrix of so many columns, at least 1.
  MatrixView<const T> matrix(std::int64_t cols) const { return {view_.data, view_.size / cols, cols}; }

 private:
  Array<T> copy_;
  VectorView<const T> view_;
};

}   // namespace kedge::engine
