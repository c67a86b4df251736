// Tasks that are many cross-validations: by train rows, by the values of a parameter, with permuted targets.
#pragma once

#include "engine/job/task_run.h"

namespace kedge::engine {

// Numbers of train rows, ascending and different, as sklearn.model_selection.learning_curve (1.9) counts them. `sizes`:
// checked, see check_train_sizes(); none: scikit-learn's five. Errors: kBadData for a number above `most`, the rows of
// the first fold.
std::vector<std::int64_t> train_counts(const schema::ValueList& sizes, std::int64_t most);

// What train_counts() takes: numbers of rows, or fractions in (0, 1] where one of them is no whole number. Errors:
// kWrongType and kInvalidValue at `where`[i].
void check_train_sizes(const schema::ValueList& sizes, const std::string& where);

// Each fills in result.evaluation, .scores and timings, with the numbers of the function of its name in
// scikit-learn 1.9. Progress is by fit, or by permutation; the last one is dealt over ranks by permutation. Errors:
// those of splitters and estimators; kCancelled.
template <class T>
void learning_curve(const Context& ctx, const schema::LearningCurve& task, const TaskInput<T>& input,
                    const TaskData<T>& data, schema::Result& result);
template <class T>
void validation_curve(const Context& ctx, const schema::ValidationCurve& task, const TaskInput<T>& input,
                      const TaskData<T>& data, schema::Result& result);
template <class T>
void permutation_test(const Context& ctx, const schema::PermutationTestScore& task, const TaskInput<T>& input,
                      const TaskData<T>& data, schema::Result& result);

}   // namespace kedge::engine
