// Selects the rows of folds.
#include "engine/model_selection/task_data.h"

#include "engine/core/chosen.h"

namespace kedge::engine {
template <class T>
TaskData<T>::TaskData(std::shared_ptr<Table<T>> table, const TaskTarget& target)
    : table_(std::move(table)), target_(target) {}

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
