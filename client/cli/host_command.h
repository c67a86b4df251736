// host: what a rented container runs.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

// Runs the kedged in this program's folder with this environment, and when it has ended, removes the machine by the key
// that the provider gave to this machine alone. Errors: none; a removal that fails is tried again forever, because the
// machine costs money. Without a token's hash in the environment and without a certificate in the data directory,
// `kedged init` comes first: it makes both and prints how to connect.
int host(const Options& options);
// Whether the server of this container answers at /livez, with any certificate: for HEALTHCHECK.
int health(const Options& options);

}  // namespace kedge::cli
