// What the server's children get of its environment.
#pragma once

#include <string>
#include <vector>

namespace kedge::server {

// What a computation may need of the server's environment: no token, no proxy, nothing that is not named here; and
// nothing that makes the vendor's libraries compute with fewer bits than the worker asks for.
std::vector<std::string> clean_environment();

// The same with the variables of launchers of MPI and of their transports.
std::vector<std::string> launcher_environment();

}   // namespace kedge::server
