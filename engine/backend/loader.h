// Finds and opens devices: the CPU always, CUDA through a shared object loaded at run time.
#pragma once

#include <memory>
#include <string_view>

#include "engine/backend/backend.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

// "cpu", "cuda" (same as "cuda:0") or "cuda:N". Errors: kDeviceUnavailable with the reason (no driver, library missing ...).
std::unique_ptr<Device> open_device(std::string_view id);

// Every device, and for each missing kind the reason. Never throws for a missing driver or library.
schema::DeviceList list_devices();

}  // namespace kedge::engine
