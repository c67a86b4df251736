// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/svm/memory.h"
#include "engine/estimators/svm/one_class_svm.h"
#include "engine/estimators/svm/svm_classifiers.h"
#include "engine/estimators/svm/svm_regressors.h"

namespace kedge::engine {

constexpr const char* kHost =
    "the multipliers before and after the fit; problems of up to 2,048 of them, with their rows of the kernel";

void add_svm(Rows& rows) {
  add<SVC>(rows, memory::support_vectors, {10, 3, 1500}, {.host_part = kHost});
  add<NuSVC>(rows, memory::support_vectors, {10, 3, 1500}, {.host_part = kHost});
  add<SVR>(rows, memory::support_vectors, {10, 2, 1500}, {.host_part = kHost});
  add<NuSVR>(rows, memory::support_vectors, {10, 2, 1500}, {.host_part = kHost});
  add<OneClassSVM>(rows, memory::support_vectors, {10, 2, 1500}, {.host_part = kHost});
}

}   // namespace kedge::engine
