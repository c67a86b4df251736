// The CUDA bodies of the operations, a family a file.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cuda/dealt_sums.h"
#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/runtime.h"

namespace kedge::engine {

// What the bodies of one device work with; they borrow it for their lifetime. `ops` are the bodies themselves, complete
// once all are made.
template <class T>
struct CudaParts {
  const Backend<T>& ops;
  CudaRuntime& runtime;
  DeviceLibraries& libraries;
  DealtSums& sums;
};

class CudaBody {
 public:
  template <class T>
  explicit CudaBody(const CudaParts<T>& parts)
      : runtime_(parts.runtime), libraries_(parts.libraries), sums_(parts.sums) {}

 protected:
  CudaRuntime& runtime_;
  DeviceLibraries& libraries_;
  DealtSums& sums_;   // for sums over the rows of a table
};

template <class T>
std::unique_ptr<TableOps<T>> make_cuda_tables(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<LinearOps<T>> make_cuda_linear(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<FactoriseOps<T>> make_cuda_factorise(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<DesignOps<T>> make_cuda_design(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<RowOps<T>> make_cuda_rows(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<LogisticOps<T>> make_cuda_logistic(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<NeighbourOps<T>> make_cuda_neighbours(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<DistanceOps<T>> make_cuda_distances(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<BayesOps<T>> make_cuda_bayes(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<ColumnOps<T>> make_cuda_columns(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<CategoryOps<T>> make_cuda_categories(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<MapOps<T>> make_cuda_maps(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<ClusterOps<T>> make_cuda_clusters(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<SparseOps<T>> make_cuda_sparse(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<ConvexOps<T>> make_cuda_convex(const CudaParts<T>& parts);
template <class T>
std::unique_ptr<NetworkOps<T>> make_cuda_network(const CudaParts<T>& parts);

}   // namespace kedge::engine
