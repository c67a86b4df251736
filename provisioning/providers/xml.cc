// A small XML reader.
#include "provisioning/providers/xml.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace kedge::provisioning::xml {
namespace {

constexpr int kDeepest = 64;
const Node kNone;

std::string resolved(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [entity, character] : kEntities) {
      if (!text.starts_with(entity)) continue;
      out += character;
      text.remove_prefix(entity.size());
      found = true;
      break;
    }
    if (found) continue;
    if (text.starts_with("&#")) {  // ASCII alone: ids and messages need no more
      const std::size_t end = text.find(';');
      const bool hex = text.size() > 2 && text[2] == 'x';
      const long code = std::strtol(std::string(text.substr(hex ? 3 : 2, 8)).c_str(), nullptr, hex ? 16 : 10);
      out += code > 0 && code < 128 ? static_cast<char>(code) : '?';
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

// Reads one element, of which `text` starts with "<"; what is left of `text` begins after it. false: malformed.
bool read_element(std::string_view& text, Node& node, int depth) {
  const std::size_t end = text.find('>');
  if (depth > kDeepest || end == std::string_view::npos || text.size() < 2) return false;
  std::string_view tag = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  const bool closed = tag.ends_with('/');
  tag = tag.substr(0, tag.find_first_of(" \t\r\n/"));
  if (const std::size_t colon = tag.find(':'); colon != std::string_view::npos) tag.remove_prefix(colon + 1);
  node.name = tag;
  while (!closed) {
    const std::size_t open = text.find('<');
    if (open == std::string_view::npos) return false;
    node.text += resolved(text.substr(0, open));
    text.remove_prefix(open);
    if (text.starts_with("</") || text.starts_with("<!--") || text.starts_with("<?")) {
      const bool comment = text.starts_with("<!--"), last = text.starts_with("</");
      const std::size_t close = text.find(comment ? "-->" : ">");
      if (close == std::string_view::npos) return false;
      text.remove_prefix(close + (comment ? 3 : 1));
      if (last) break;
    } else if (!read_element(text, node.children.emplace_back(), depth + 1)) {
      return false;
    }
  }
  if (node.text.find_first_not_of(" \t\r\n") == std::string::npos) node.text.clear();
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
  Node root;
  while (true) {
    const std::size_t open = text.find('<');
    if (open == std::string_view::npos) return {};
    text.remove_prefix(open);
    if (!text.starts_with("<?") && !text.starts_with("<!")) break;
    const std::size_t close = text.find('>');
    if (close == std::string_view::npos) return {};
    text.remove_prefix(close + 1);
  }
  return read_element(text, root, 0) ? root : Node{};
}

}  // namespace kedge::provisioning::xml
