// Reads the XML that EC2's query API answers with: elements and text, no attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::provisioning::xml {

struct Node {
  std::string name;  // without prefix
  std::string text;  // its own, entities resolved
  std::vector<Node> children;

  // The first child along a path such as "instanceState/name"; an empty node when there is none.
  const Node& at(std::string_view path) const;
  const std::string& value(std::string_view path) const { return at(path).text; }
};

// The root element; an empty node for what is not XML. At most 64 deep.
Node parse(std::string_view text);

}  // namespace kedge::provisioning::xml
