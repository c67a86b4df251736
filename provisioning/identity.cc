// A certificate and a token for one machine.
#include "provisioning/identity.h"

#include <utility>

#include "crypto/certificate.h"
#include "crypto/random.h"

namespace kedge::provisioning {

Identity make_identity(const std::string& name) {
  constexpr int kDays = 365;
  crypto::SelfSigned made = crypto::make_self_signed({name}, kDays);
  return {std::move(made.certificate), std::move(made.key), std::move(made.fingerprint), crypto::random_base64url(32)};
}

}  // namespace kedge::provisioning
