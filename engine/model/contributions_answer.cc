// Names the numbers of contributions.
#include "engine/model/contributions_answer.h"

namespace kedge::engine {

ModelAnswer contributions_answer(std::vector<double> values, const std::vector<std::string>& columns,
                                 const std::vector<std::string>& outputs, bool among_pairs) {
  ModelAnswer answer{.is_vector = false, .numbers = std::move(values)};
  for (const std::string& output : outputs) {
    const std::string prefix = outputs.size() > 1 ? output + ":" : "";
    for (const std::string& column : columns) {
      if (!among_pairs) answer.columns.push_back(prefix + column);
      else
        for (const std::string& other : columns) answer.columns.push_back(prefix + column + '*' + other);
    }
    answer.columns.push_back(prefix + "expected_value");
  }
  answer.n_cols = static_cast<std::int64_t>(answer.columns.size());
  return answer;
}

}   // namespace kedge::engine
