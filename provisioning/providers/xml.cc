// XML by pugixml, taken over into plain values.
#include "provisioning/providers/xml.h"

#include <pugixml.hpp>

namespace kedge::provisioning::xml {
namespace {

constexpr int kDeepest = 64;
const Node kNone;

std::string_view without_prefix(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// False: it is too deep.
bool take(const pugi::xml_node& element, Node& node, int depth) {
  if (depth > kDeepest) return false;
  node.name = without_prefix(element.name());
  for (const pugi::xml_node child : element.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) node.text += child.value();
    if (child.type() == pugi::node_element && !take(child, node.children.emplace_back(), depth + 1)) return false;
  }
  return true;
}

}  // namespace

const Node& Node::at(std::string_view path) const {
  const Node* here = this;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    const Node* next = &kNone;
    for (const Node& child : here->children)
      if (child.name == name) {
        next = &child;
        break;
      }
    here = next;
    path = path.size() == name.size() ? std::string_view() : path.substr(name.size() + 1);
  }
  return *here;
}

Node parse(std::string_view text) {
  pugi::xml_document document;   // neither external entities nor a DTD are read
  if (!document.load_buffer(text.data(), text.size())) return {};
  Node root;
  return take(document.document_element(), root, 0) ? root : Node{};
}

}  // namespace kedge::provisioning::xml
