// The routines of LAPACK that work on one panel, and of BLAS that bring the rest up to date, by element type. See
// lapack_steps.h.
#pragma once

#include <cblas.h>

#define KEDGE_DECLARE_PANELS(T, p)                                                                                    \
  void p##geqr2_(const int*, const int*, T*, const int*, T*, T*, int*);                                               \
  void p##gelq2_(const int*, const int*, T*, const int*, T*, T*, int*);                                               \
  void p##geqrt3_(const int*, const int*, T*, const int*, T*, const int*, int*);                                      \
  void p##orgl2_(const int*, const int*, const int*, T*, const int*, const T*, T*, int*);                             \
  void p##larft_(const char*, const char*, const int*, const int*, const T*, const int*, const T*, T*, const int*);   \
  void p##larfb_(const char*, const char*, const char*, const char*, const int*, const int*, const int*, const T*,    \
                 const int*, const T*, const int*, T*, const int*, T*, const int*);                                   \
  void p##latrd_(const char*, const int*, const int*, T*, const int*, T*, T*, T*, const int*);                        \
  void p##sytd2_(const char*, const int*, T*, const int*, T*, T*, T*, int*);                                          \
  void p##labrd_(const int*, const int*, const int*, T*, const int*, T*, T*, T*, T*, T*, const int*, T*, const int*); \
  void p##gebd2_(const int*, const int*, T*, const int*, T*, T*, T*, T*, T*, int*);                                   \
  void p##potrf_(const char*, const int*, T*, const int*, int*);
extern "C" {
KEDGE_DECLARE_PANELS(float, s)
KEDGE_DECLARE_PANELS(double, d)
}
#undef KEDGE_DECLARE_PANELS

namespace kedge::engine {

template <class T>
struct Panels;

#define KEDGE_PANELS(T, p)                          \
  template <>                                       \
  struct Panels<T> {                                \
    static constexpr auto geqr2 = p##geqr2_;        \
    static constexpr auto gelq2 = p##gelq2_;        \
    static constexpr auto geqrt3 = p##geqrt3_;      \
    static constexpr auto orgl2 = p##orgl2_;        \
    static constexpr auto larft = p##larft_;        \
    static constexpr auto larfb = p##larfb_;        \
    static constexpr auto latrd = p##latrd_;        \
    static constexpr auto sytd2 = p##sytd2_;        \
    static constexpr auto labrd = p##labrd_;        \
    static constexpr auto gebd2 = p##gebd2_;        \
    static constexpr auto potrf = p##potrf_;        \
    static constexpr auto gemm = cblas_##p##gemm;   \
    static constexpr auto syrk = cblas_##p##syrk;   \
    static constexpr auto syr2k = cblas_##p##syr2k; \
    static constexpr auto trsm = cblas_##p##trsm;   \
  };
KEDGE_PANELS(float, s)
KEDGE_PANELS(double, d)
#undef KEDGE_PANELS

}   // namespace kedge::engine
