// /v1/tokens: who calls and what it may do; for an administrator all tokens. They are made and revoked by `kedged
// token` alone.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>
#include <vector>

#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using schema::ValueList;
using schema::ValueMap;

ValueList scopes_value(bool read, bool submit, bool admin) {
  ValueList scopes;
  for (const auto& [has, word] : {std::pair(read, "read"), {submit, "submit"}, {admin, "admin"}})
    if (has) scopes.emplace_back(word);
  return scopes;
}

std::string moment(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

ValueMap token_value(const TokenInfo& token) {
  ValueMap value{{"id", token.id},
                 {"tenant", token.tenant},
                 {"name", token.name},
                 {"scopes", scopes_value(token.read, token.submit, token.admin)},
                 {"created", moment(token.created)}};
  if (token.expires > 0) value.emplace_back("expires", moment(token.expires));
  value.emplace_back("revoked", token.revoked);
  return value;
}

}   // namespace

awaitable<Response> list_tokens(const Api& api, Request request) {
  check_query(request, {});
  negotiate(request, {kJson});
  const http::Caller& caller = request.caller;
  std::vector<TokenInfo> tokens;
  auto work = [&] {
    if (api.tokens) tokens = api.tokens();
  };
  co_await request.peer->offload(work);
  ValueList shown;
  for (const TokenInfo& token : tokens)
    if (caller.admin || token.id == caller.token) shown.emplace_back(token_value(token));
  ValueMap who{{"tenant", caller.tenant}, {"scopes", scopes_value(caller.read, caller.submit, caller.admin)}};
  if (!caller.token.empty()) who.emplace_back("token", caller.token);
  ValueMap answer;
  answer.emplace_back("caller", std::move(who));
  answer.emplace_back("tokens", std::move(shown));
  co_return json_answer(200, schema::value_to_json(schema::Value(std::move(answer))));
}

}   // namespace kedge::server::api
