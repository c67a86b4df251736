// Pages of HTML: see html.h.
#include "server/api/html.h"

#include <fmt/format.h>

#include "crypto/digest.h"
#include "crypto/random.h"

namespace kedge::server::api {
namespace {

constexpr std::string_view kStyle =
    ":root{color-scheme:light dark;--ink:#16202b;--dim:#566475;--line:#dde3ea;--paper:#fff;--card:#f6f8fa;--accent:#0b6e74}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e9ef;--dim:#9aa7b5;--line:#2b3643;--paper:#11171e;--card:#19212a;--accent:#4fc3c9}}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem;color:var(--ink);background:var(--paper)}"
    "nav{display:flex;gap:1.2rem;font-size:.95rem;margin-bottom:1.5rem}a{color:var(--accent)}h1{font-size:1.7rem;margin:.2rem 0 .6rem}"
    "h2{font-size:1.2rem;margin:2.4rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}h3{font-size:1rem;margin:1.6rem 0 .3rem}"
    "code{font:.9em ui-monospace,monospace}p{margin:.3rem 0 .6rem}.dim{color:var(--dim)}"
    "table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}td,th{padding:.3rem .9rem .3rem 0;vertical-align:top;text-align:left;border-bottom:1px solid var(--line)}"
    "th{font-weight:600;color:var(--dim);font-size:.85rem}section{scroll-margin-top:1rem}.tag{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:0 .4rem}";

}   // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

http::Response html_page(std::string_view title, std::string_view body) {
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>{0}</title><style>{1}</style></head>\n<body><nav><a href=\"/ui/\">Page</a> <a href=\"/docs\">Calls</a> "
      "<a href=\"/docs/estimators\">Estimators</a> <a href=\"/openapi.json\">openapi.json</a></nav>\n<h1>{0}</h1>\n{2}</body></html>\n",
      escaped(title), kStyle, body);
  const std::string digest = crypto::base64(crypto::from_hex(crypto::sha256_hex(kStyle)));
  response.fields.emplace_back(
      "Content-Security-Policy",
      fmt::format(
          "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          digest));
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

}   // namespace kedge::server::api
