// The CPU bodies of the operations, a family a file. None has state.
#pragma once

#include "engine/backend/backend.h"

namespace kedge::engine {

template <class T>
std::unique_ptr<TableOps<T>> make_cpu_tables();
template <class T>
std::unique_ptr<LinearOps<T>> make_cpu_linear();
template <class T>
std::unique_ptr<FactoriseOps<T>> make_cpu_factorise();
template <class T>
std::unique_ptr<DesignOps<T>> make_cpu_design();
template <class T>
std::unique_ptr<RowOps<T>> make_cpu_rows();
template <class T>
std::unique_ptr<LogisticOps<T>> make_cpu_logistic();
template <class T>
std::unique_ptr<NeighbourOps<T>> make_cpu_neighbours();
template <class T>
std::unique_ptr<DistanceOps<T>> make_cpu_distances();
template <class T>
std::unique_ptr<BayesOps<T>> make_cpu_bayes();
template <class T>
std::unique_ptr<ColumnOps<T>> make_cpu_columns();
template <class T>
std::unique_ptr<CategoryOps<T>> make_cpu_categories();
template <class T>
std::unique_ptr<MapOps<T>> make_cpu_maps();
template <class T>
std::unique_ptr<ClusterOps<T>> make_cpu_clusters();
template <class T>
std::unique_ptr<SparseOps<T>> make_cpu_sparse();
template <class T>
std::unique_ptr<ConvexOps<T>> make_cpu_convex();
template <class T>
std::unique_ptr<NetworkOps<T>> make_cpu_network();

template <class T>
Backend<T> make_cpu_backend();

}   // namespace kedge::engine
