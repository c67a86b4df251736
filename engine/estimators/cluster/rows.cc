// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/cluster/dbscan.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/cluster/memory.h"
#include "engine/estimators/cluster/mini_batch_k_means.h"

namespace kedge::engine {

void add_cluster(Rows& rows) {
  add<KMeans>(rows, memory::clusters);
  add<MiniBatchKMeans>(rows, memory::clusters);
  add<DBSCAN>(rows, memory::density);
}

}  // namespace kedge::engine
