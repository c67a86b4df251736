// Which columns of a table a transformer gets: by name, by place, by type or by a pattern of names.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/samples.h"
#include "schemas/catalogue.h"
#include "schemas/value.h"

namespace kedge::engine {

// Parsed once, resolved against each table that is fitted. A value.
class ColumnChoice {
 public:
  // A list of names; of places (negative ones count from the end); of true and false, one a column; or make_column_selector's
  // {"dtypeInclude", "dtypeExclude", "pattern"}. Errors: kWrongType and kInvalidValue with `where` = path.
  ColumnChoice(const schema::Value& value, const std::string& path);

  // Places of the chosen columns, in the order of the choice. Errors: kBadData for a name or place that the table does not have.
  std::vector<std::int64_t> resolve(const std::string& owner, const std::vector<Feature>& features) const;

  static std::vector<schema::ParamForm> forms();

 private:
  struct Selector {
    std::vector<std::string> include, exclude;  // "number", "category"; empty include: all
    std::shared_ptr<const RE2> pattern;   // shared by copies: it cannot be copied; null: any name
    bool takes(const Feature& feature) const;
  };
  Selector selector_of(const schema::ValueMap& map, const std::string& path) const;

  std::vector<std::string> names_;
  std::vector<std::int64_t> places_;
  std::vector<bool> mask_;
  std::optional<Selector> selector_;
};

}  // namespace kedge::engine
