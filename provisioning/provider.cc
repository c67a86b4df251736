// What providers share.
#include "provisioning/provider.h"

namespace kedge::provisioning {

std::string end_of_log(std::string text) {
  constexpr std::size_t kLongest = 2000;
  if (text.size() > kLongest) text.erase(0, text.size() - kLongest);
  return text;
}

}   // namespace kedge::provisioning
