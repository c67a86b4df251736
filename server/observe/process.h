// The process's own figures, named as Prometheus' client libraries name them.
#pragma once

#include "server/observe/exposition.h"

namespace kedge::server::observe {

void append_process(Exposition& out);

}   // namespace kedge::server::observe
