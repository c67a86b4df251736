// How often fitting and predicting wait for the device: a wait costs a GPU tens of microseconds, so new ones are to be noticed.
#include <gtest/gtest.h>

#include <map>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"
#include "small_params.h"

namespace kedge::engine {
namespace {
