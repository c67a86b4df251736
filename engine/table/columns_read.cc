// The columns of a table that a job can need, for readers that take only some of a file.
#include "engine/table/columns_read.h"

#include <algorithm>

#include "engine/table/row_condition.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {

std::vector<std::string> columns_read(const schema::Select& select) {
  if (select.columns.empty()) return {};
  std::vector<std::string> names = select.columns;
  names.insert(names.end(), select.targets.begin(), select.targets.end());
  if (select.target) names.push_back(column_of_target(*select.target));
  for (const std::optional<std::string>& role : {select.weights, select.groups})
    if (role) names.push_back(*role);
  for (const std::string& condition : select.where)
    names.push_back(parse_row_condition(condition, "select.where").column);
  for (const auto& [name, type] : select.types) names.push_back(name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}   // namespace kedge::engine
