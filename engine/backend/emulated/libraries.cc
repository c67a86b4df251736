// Plain references for cuBLAS and cuSOLVER: by the definition, sums in double.
#include "engine/backend/cuda/libraries.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/observer.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

using Dense = std::vector<std::vector<double>>;   // by rows

template <class T>
Dense load(MatrixView<const T> A) {
  Dense dense(static_cast<std::size_t>(A.rows));
  for (std::int64_t i = 0; i < A.rows; ++i)
    dense[static_cast<std::size_t>(i)].assign(raw(A) + i * A.stride, raw(A) + i * A.stride + A.cols);
  return dense;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Rows of G are made orthogonal by rotations of pairs (one-sided Jacobi: Hestenes, 1958), applied to the rows of V as well.
void orthogonalise_rows(Dense& G, Dense& V) {
  for (int sweep = 0, rotations = 1; sweep < 60 && rotations > 0; ++sweep) {
    rotations = 0;
    for (std::size_t p = 0; p < G.size(); ++p) {
      for (std::size_t q = p + 1; q < G.size(); ++q) {
        const double a = dot(G[p], G[p]), b = dot(G[q], G[q]), c = dot(G[p], G[q]);
        if (std::abs(c) <= 1e-15 * std::sqrt(a * b)) continue;
        ++rotations;
        const double zeta = (b - a) / (2 * c), t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, t), sine = cosine * t;
        for (Dense* matrix : {&G, &V}) {
          auto &x = (*matrix)[p], &y = (*matrix)[q];
          for (std::size_t j = 0; j < x.size(); ++j) {
            const double old = x[j];
            x[j] = cosine * old - sine * y[j];
            y[j] = sine * old + cosine * y[j];
          }
        }
      }
    }
  }
}

Dense identity(std::size_t n) {
  Dense V(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) V[i][i] = 1;
  return V;
}

// Makes the rows orthonormal in order (Gram and Schmidt, twice); a row that depends on earlier ones is replaced by a unit vector.
void orthonormalise_rows(Dense& A) {
  for (std::size_t i = 0; i < A.size(); ++i) {
    const double before = std::sqrt(dot(A[i], A[i]));
    for (std::size_t attempt = 0; attempt <= A[i].size(); ++attempt) {
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t p = 0; p < i; ++p) {
          const double along = dot(A[i], A[p]);
          for (std::size_t j = 0; j < A[i].size(); ++j) A[i][j] -= along * A[p][j];
        }
      }
      const double norm = std::sqrt(dot(A[i], A[i]));
      if (norm > 1e-10 * (attempt ? 1.0 : before) && norm > 0) {
        for (double& x : A[i]) x /= norm;
        break;
      }
      std::fill(A[i].begin(), A[i].end(), 0.0);
      A[i][attempt % A[i].size()] = 1;
    }
  }
}

Dense transposed(const Dense& A, std::size_t cols) {
  Dense B(cols, std::vector<double>(A.size()));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j < cols; ++j) B[j][i] = A[i][j];
  }
  return B;
}

template <class T>
void store(const Dense& A, MatrixView<T> out) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j)
      raw(out)[i * out.stride + j] = static_cast<T>(A[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
  }
}

// Opens the device's memory for one call, which the observer sees. The operations are those of the usual algorithms
// (LAPACK Users' Guide; five times the number of comparisons of a radix sort's passes stand for a sort).
class Call {
 public:
  Call(emulated::DeviceMemory& memory, const char* what, std::size_t value_bytes, double operations, double values)
      : access_(memory) {
    if (emulated::observer)
      emulated::observer->library(what, value_bytes, operations, values * static_cast<double>(value_bytes));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  emulated::DeviceAccess access_;
};

double product(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

}  // namespace

struct DeviceLibraries::Impl {
  emulated::Emulator& emulator;
};
DeviceLibraries::DeviceLibraries(CudaRuntime& runtime)
    : impl_(new Impl{*static_cast<emulated::Emulator*>(runtime.stream())}) {}
DeviceLibraries::~DeviceLibraries() = default;

template <class T>
void DeviceLibraries::gemm(bool transpose_a, bool transpose_b, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C) {
  impl_->emulator.put([=, &memory = impl_->emulator.memory] {
    const Call call(memory, "gemm", sizeof(T), 2 * product(C.rows, C.cols, transpose_a ? A.rows : A.cols),
                    product(A.rows, A.cols) + product(B.rows, B.cols) + product(C.rows, C.cols));
    const std::int64_t depth = transpose_a ? A.rows : A.cols;
    for (std::int64_t i = 0; i < C.rows; ++i) {
      for (std::int64_t j = 0; j < C.cols; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const T a = transpose_a ? raw(A)[k * A.stride + i] : raw(A)[i * A.stride + k];
          const T b = transpose_b ? raw(B)[j * B.stride + k] : raw(B)[k * B.stride + j];
          sum += static_cast<double>(a) * static_cast<double>(b);
        }
        T& c = raw(C)[i * C.stride + j];
        c = static_cast<T>(static_cast<double>(alpha) * sum +
                           (beta == T{0} ? 0.0 : static_cast<double>(beta) * static_cast<double>(c)));
      }
    }
  });
}

template <class T>
void DeviceLibraries::gemm_pieces(bool transpose_a, bool transpose_b, MatrixView<const T> A, std::int64_t a_step,
                                  MatrixView<const T> B, std::int64_t b_step, std::int64_t count, T* C) {
  const std::int64_t m = transpose_a ? A.cols : A.rows, n = transpose_b ? B.rows : B.cols;
  for (std::int64_t c = 0; c < count; ++c) {
    MatrixView<const T> left = A, right = B;
    left.data = left.data + c * a_step, right.data = right.data + c * b_step;
    gemm<T>(transpose_a, transpose_b, T{1}, left, right, T{0}, MatrixView<T>(C + c * m * n, m, n));
  }
}

// Cholesky by rows, then substitution forwards and backwards.
template <class T>
bool DeviceLibraries::solve_positive(MatrixView<T> A, MatrixView<T> B) {
  impl_->emulator.refuse_in_recording("potrf");
  const Call call(impl_->emulator.memory, "potrf", sizeof(T),
                  product(A.rows, A.rows, A.rows) / 3 + 2 * product(A.rows, A.rows, B.cols),
                  product(A.rows, A.rows) + product(B.rows, B.cols));
  Dense L = load<T>(A), X = load<T>(B);
  const std::size_t n = L.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = L[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      if (i == j && !(sum > 0)) return false;
      L[i][j] = i == j ? std::sqrt(sum) : sum / L[j][j];
    }
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(B.cols); ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) X[i][c] -= L[i][k] * X[k][c];
      X[i][c] /= L[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) X[i][c] -= L[k][i] * X[k][c];
      X[i][c] /= L[i][i];
    }
  }
  store(X, B);
  return true;
}

// The classical Jacobi method, two-sided: it keeps the signs of the eigenvalues.
template <class T>
void DeviceLibraries::eigh(MatrixView<T> A, VectorView<T> w) {
  impl_->emulator.refuse_in_recording("syevd");
  const Call call(impl_->emulator.memory, "syevd", sizeof(T), 9 * product(A.rows, A.rows, A.rows),
                  product(A.rows, A.rows));
  Dense G = load<T>(A);
  const std::size_t n = G.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) G[i][j] = G[j][i];   // the lower triangle counts
  }
  Dense V = identity(n);
  double scale = 0;
  for (const auto& row : G) scale += dot(row, row);
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        off += G[p][q] * G[p][q];
        if (G[p][q] == 0) continue;
        const double zeta = (G[q][q] - G[p][p]) / (2 * G[p][q]), t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, t), sine = cosine * t;
        for (std::size_t j = 0; j < n; ++j) {
          const double x = G[p][j], y = G[q][j], v = V[p][j], u = V[q][j];
          G[p][j] = cosine * x - sine * y, G[q][j] = sine * x + cosine * y;
          V[p][j] = cosine * v - sine * u, V[q][j] = sine * v + cosine * u;
        }
        for (std::size_t i = 0; i < n; ++i) {
          const double x = G[i][p], y = G[i][q];
          G[i][p] = cosine * x - sine * y, G[i][q] = sine * x + cosine * y;
        }
      }
    }
    if (off <= 1e-30 * scale) break;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return G[i][i]; });
  order.erase(order.begin(), order.end() - w.size);   // the largest ones
  for (std::size_t i = 0; i < order.size(); ++i) {
    raw(w)[i] = static_cast<T>(G[order[i]][order[i]]);
    for (std::size_t j = 0; j < n; ++j)
      raw(A)[static_cast<std::int64_t>(i) * A.stride + static_cast<std::int64_t>(j)] = static_cast<T>(V[order[i]][j]);
  }
}

template <class T>
void DeviceLibraries::svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) {
  impl_->emulator.refuse_in_recording("gesvd");
  const Call call(impl_->emulator.memory, "gesvd", sizeof(T),
                  6 * product(A.rows, A.cols, std::min(A.rows, A.cols)) +
                      20 * product(std::min(A.rows, A.cols), std::min(A.rows, A.cols), std::min(A.rows, A.cols)),
                  2 * product(A.rows, A.cols));
  const bool tall = A.rows >= A.cols;   // the shorter side's vectors are rotated: W M = diag(s) X
  Dense M = tall ? transposed(load<T>(A), static_cast<std::size_t>(A.cols)) : load<T>(A);
  Dense W = identity(M.size());
  orthogonalise_rows(M, W);
  std::vector<double> norms;
  for (const auto& row : M) norms.push_back(std::sqrt(dot(row, row)));
  std::vector<std::size_t> order(M.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return norms[i]; });
  Dense X, Y;
  for (std::size_t i = 0; i < order.size(); ++i) {
    raw(s)[i] = static_cast<T>(norms[order[i]]);
    if (norms[order[i]] <= 1e-14 * norms[order[0]]) std::fill(M[order[i]].begin(), M[order[i]].end(), 0.0);
    X.push_back(M[order[i]]), Y.push_back(W[order[i]]);
  }
  orthonormalise_rows(X);
  store(tall ? transposed(X, static_cast<std::size_t>(A.rows)) : transposed(Y, static_cast<std::size_t>(A.rows)), U);
  store(tall ? Y : X, Vt);
}

template <class T>
void DeviceLibraries::orthonormalize(MatrixView<T> A) {
  impl_->emulator.refuse_in_recording("orgqr");
  const Call call(impl_->emulator.memory, "orgqr", sizeof(T), 4 * product(A.rows, A.cols, A.cols),
                  2 * product(A.rows, A.cols));
  Dense columns = transposed(load<T>(A), static_cast<std::size_t>(A.cols));
  orthonormalise_rows(columns);
  store(transposed(columns, static_cast<std::size_t>(A.rows)), A);
}

// Householder's reflections, column by column.
template <class T>
void DeviceLibraries::triangularize(T* A, std::int64_t m, std::int64_t n) {
  impl_->emulator.refuse_in_recording("geqrf");
  const Call call(impl_->emulator.memory, "geqrf", sizeof(T), 2 * product(m, n, n), 2 * product(m, n));
  for (std::int64_t k = 0; k < n; ++k) {
    T* const column = A + k * m;
    double norm = 0;
    for (std::int64_t i = k; i < m; ++i) norm += static_cast<double>(column[i]) * static_cast<double>(column[i]);
    norm = std::sqrt(norm);
    if (norm == 0) continue;
    const double diagonal = column[k] > 0 ? -norm : norm, head = static_cast<double>(column[k]) - diagonal;
    column[k] = static_cast<T>(head);   // the reflector lies in the column until the others have seen it
    for (std::int64_t j = k + 1; j < n; ++j) {
      T* const other = A + j * m;
      double along = 0;
      for (std::int64_t i = k; i < m; ++i) along += static_cast<double>(column[i]) * static_cast<double>(other[i]);
      for (std::int64_t i = k; i < m; ++i) other[i] = static_cast<T>(static_cast<double>(other[i]) + along / (diagonal * head) * static_cast<double>(column[i]));
    }
    column[k] = static_cast<T>(diagonal);
  }
}

template void DeviceLibraries::triangularize(double*, std::int64_t, std::int64_t);
template <class T>
void DeviceLibraries::sort_rows(MatrixView<T> A) {
  impl_->emulator.refuse_in_recording("sort_rows(), which uploads where rows begin");
  const Call call(impl_->emulator.memory, "sort", sizeof(T), 5 * product(A.rows, A.cols, sizeof(T)),
                  2 * product(A.rows, A.cols, sizeof(T)));
  for (std::int64_t i = 0; i < A.rows; ++i) std::sort(raw(A) + i * A.stride, raw(A) + i * A.stride + A.cols);
}

void DeviceLibraries::sort_pairs(std::int32_t* keys, std::int32_t* values, std::int64_t n) {
  impl_->emulator.put([=, &memory = impl_->emulator.memory] {
    const Call call(memory, "sort", sizeof(std::int32_t), 5 * product(n, 4), 16 * product(n, 1));
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::int64_t i = 0; i < n; ++i) pairs.emplace_back(keys[i], values[i]);
    std::ranges::stable_sort(pairs, {}, &std::pair<std::int32_t, std::int32_t>::first);
    for (std::int64_t i = 0; i < n; ++i) std::tie(keys[i], values[i]) = pairs[static_cast<std::size_t>(i)];
  });
}

template void DeviceLibraries::sort_rows(MatrixView<float>);
template void DeviceLibraries::sort_rows(MatrixView<double>);
template void DeviceLibraries::gemm(bool, bool, float, MatrixView<const float>, MatrixView<const float>, float, MatrixView<float>);
template void DeviceLibraries::gemm(bool, bool, double, MatrixView<const double>, MatrixView<const double>, double, MatrixView<double>);
template void DeviceLibraries::gemm_pieces(bool, bool, MatrixView<const float>, std::int64_t, MatrixView<const float>,
                                           std::int64_t, std::int64_t, float*);
template void DeviceLibraries::gemm_pieces(bool, bool, MatrixView<const double>, std::int64_t, MatrixView<const double>,
                                           std::int64_t, std::int64_t, double*);
template void DeviceLibraries::eigh(MatrixView<float>, VectorView<float>);
template void DeviceLibraries::eigh(MatrixView<double>, VectorView<double>);
template void DeviceLibraries::svd(MatrixView<float>, MatrixView<float>, VectorView<float>, MatrixView<float>);
template void DeviceLibraries::svd(MatrixView<double>, MatrixView<double>, VectorView<double>, MatrixView<double>);
template void DeviceLibraries::orthonormalize(MatrixView<float>);
template void DeviceLibraries::orthonormalize(MatrixView<double>);
template bool DeviceLibraries::solve_positive(MatrixView<float>, MatrixView<float>);
template bool DeviceLibraries::solve_positive(MatrixView<double>, MatrixView<double>);

}  // namespace kedge::engine
