// Kernel rows that the candidates of a search share: those that differ in C, epsilon or nu alone have the same.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/core/work_cache.h"
#include "engine/estimators/svm/kernel_rows.h"
#include "engine/estimators/svm/svm_params.h"

namespace kedge::engine {

// All kernel rows that the candidates on one fold share; the plan of a search counts as much (kernel_matrix_key()).
// Candidates for whose rows no room is left compute their own.
inline constexpr std::int64_t kSharedKernelBytes = std::int64_t{1} << 30;

// Says before the search that a fit on samples of this content will ask for shared_kernel().
void announce_kernel(WorkCache& plan, const std::string& content, const char* owner, const SvmParams& params);

// The rows that make() gives: those of an earlier candidate, or new ones, which are kept while candidates are left that
// announced the same. Only rows that is_fixed() are kept, so that a fit is the same to the bit as one alone. Without a
// search, or without a content, make().
std::shared_ptr<KernelRows> shared_kernel(const Context& ctx, const std::string& content, const char* owner,
                                          const SvmParams& params,
                                          const std::function<std::shared_ptr<KernelRows>()>& make);

}   // namespace kedge::engine
