// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/cluster/agglomerative_clustering.h"
#include "engine/estimators/cluster/birch.h"
#include "engine/estimators/cluster/bisecting_k_means.h"
#include "engine/estimators/cluster/dbscan.h"
#include "engine/estimators/cluster/feature_agglomeration.h"
#include "engine/estimators/cluster/hdbscan.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/cluster/mean_shift.h"
#include "engine/estimators/cluster/memory.h"
#include "engine/estimators/cluster/mini_batch_k_means.h"
#include "engine/estimators/cluster/optics.h"
#include "engine/estimators/cluster/spectral_clustering.h"

namespace kedge::engine {

constexpr const char* kCenters = "the first draw of k-means++, the draws of batches, and empty clusters";

void add_cluster(Rows& rows) {
  add<KMeans>(rows, memory::clusters, {16, 4}, {.host_part = kCenters, .dealt = DealtFit::kOwnRows});
  add<MiniBatchKMeans>(rows, memory::clusters, {60, 4, 25}, {.host_part = kCenters});
  add<BisectingKMeans>(rows, BisectingKMeans<float>::memory, {160, 40, 40},
                       {.host_part = "the rows of each cluster, and empty clusters"});
  add<DBSCAN>(rows, memory::density, {5, 0, 34},
              {.host_part = "the numbers of the clusters, and with at most 10 columns the tree of the points",
               .dealt = DealtFit::kOwnRows});
  add<Birch>(rows, Birch<float>::memory, {10, 3, 62}, {.host_part = "the subclusters, and which of them are merged"});
  add<OPTICS>(rows, OPTICS<float>::memory, {5, 0, 120}, {.host_part = "the order of the rows, and the clusters in it"});
  add<HDBSCAN>(rows, HDBSCAN<float>::memory, {6, 0, 120},
               {.host_part = "the clusters in the spanning tree, and the tree where edges are equal",
                .dealt = DealtFit::kRowSums});
  add<AgglomerativeClustering>(
      rows, AgglomerativeClustering<float>::memory, {11, 0, 48},
      {.host_part = "which clusters are merged, but for ward and single without equal distances"});
  add<MeanShift>(rows, MeanShift<float>::memory, {3, 2, 60}, {.host_part = "the bandwidth, and the means, which climb over all rows"});
  add<FeatureAgglomeration>(rows, FeatureAgglomeration<float>::memory, {5, 1, 48},
                            {.host_part = "the fit: which columns are merged"});
  add<SpectralClustering>(rows, SpectralClustering<float>::memory, {300, 0, 1600},
                          {.host_part = "the edges between neighbours, and with discretize and cluster_qr the labels"});
}

}  // namespace kedge::engine
