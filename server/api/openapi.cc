// openapi.json, compiled into the program by the assembler, as the built-in data sets are.
#include "server/api/openapi.h"

asm(".pushsection .rodata\n"
    "kedge_openapi_begin:\n"
    ".incbin \"" KEDGE_OPENAPI_FILE
    "\"\n"
    "kedge_openapi_end:\n"
    ".popsection\n");
extern "C" {
extern const char kedge_openapi_begin[] __attribute__((visibility("hidden")));
extern const char kedge_openapi_end[] __attribute__((visibility("hidden")));
}

namespace kedge::server::api {

std::string_view openapi_json() {
  return {kedge_openapi_begin, static_cast<std::size_t>(kedge_openapi_end - kedge_openapi_begin)};
}

}  // namespace kedge::server::api
