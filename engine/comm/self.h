// The communicator of a job that has one rank.
#pragma once

#include <memory>

#include "engine/comm/comm.h"

namespace kedge::engine {

std::unique_ptr<Comm> make_self_comm();   // abort() throws the error

}   // namespace kedge::engine
