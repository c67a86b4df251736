// Code that reads a view's or a device array's memory by its own pointer does not compile; host_view() reads the
// host's.
#include "engine/core/view.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "engine/core/array.h"
#include "engine/core/host_view.h"

namespace kedge::engine {
namespace {

template <class P>
concept Readable = requires(P p) { *p; } || requires(P p) { p[0]; } || requires(P p) { static_cast<const double*>(p); };

static_assert(Readable<double*>);
static_assert(!Readable<decltype(VectorView<double>::data)>);
static_assert(!Readable<decltype(MatrixView<const double>::data)>);
static_assert(!Readable<decltype(std::declval<Array<double>&>().data())>);
static_assert(!Readable<decltype(std::declval<const Matrix<double>&>().data())>);

TEST(View, IsReadByHostViewAlone) {
  std::array<double, 6> cells{1, 2, 3, 4, 5, 6};
  const MatrixView<double> rows(cells.data(), 2, 2, 3);
  EXPECT_EQ(host_view(rows).row(1)[1], 5);
  EXPECT_EQ(host_view(VectorView<double>(cells.data(), 6).slice(2, 3))[0], 3);
  host_view(rows.last_columns(1)).row(0)[0] = 7;
  EXPECT_EQ(cells[1], 7);
}

}   // namespace
}   // namespace kedge::engine
