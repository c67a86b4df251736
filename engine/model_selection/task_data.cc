// Selects the rows of folds.
#include "engine/model_selection/task_data.h"

#include "engine/core/chosen.h"

namespace kedge::engine {
template <class T>
TaskData<T>::TaskData(std::shared_ptr<Table<T>> table, const TaskTarget& target, std::int64_t fit_bytes)
    : table_(std::move(table)), target_(target), fit_bytes_(fit_bytes) {}

template <class T>
int TaskData<T>::lanes(const Context& ctx, std::int64_t pieces) const {
  const std::int64_t table_bytes = table_->sparse
                                       ? table_->sparse->n_entries() * static_cast<std::int64_t>(sizeof(T) + 4)
                                       : table_->X.rows() * table_->X.cols() * static_cast<std::int64_t>(sizeof(T));
  const int lanes = lanes_for(ctx, {.pieces = pieces, .table_bytes = table_bytes, .fit_bytes = fit_bytes_});
  if (lanes > 1 && !table_->is_finite) table_->is_finite = !first_nonfinite(ctx, *table_);   // which lanes then read
  return lanes;
}

template <class T>
Samples<T> TaskData<T>::rows(const Context& ctx, const std::vector<std::int32_t>& rows) const {
  return {.table = table_, .rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(rows))};
}

template <class T>
Target TaskData<T>::targets(const std::vector<std::int32_t>& rows) const {
  return {.codes = chosen(target_.codes, rows),
          .classes = target_.classes,
          .values = chosen(target_.values, rows),
          .weights = chosen(target_.weights, rows),
          .outputs = rows_at(target_.outputs, rows)};
}

template <class T>
Fold<T>::Fold(const Context& ctx, const TaskData<T>& data, const Split& split)
    : train(data.rows(ctx, split.train)),
      test(data.rows(ctx, split.test)),
      train_target(data.targets(split.train)),
      test_target(data.targets(split.test)) {
  if (ctx.work) train.content = "train", test.content = "test";
}

template class TaskData<float>;
template class TaskData<double>;
template struct Fold<float>;
template struct Fold<double>;

}   // namespace kedge::engine
