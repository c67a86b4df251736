// Devices that do several fits at the same time: each lane is a device of its own on the same hardware and memory.
#pragma once

#include "engine/backend/backend.h"

namespace kedge::engine {

// What a device has beside Device where small fits leave it idle: a lane has its own order of work (a stream), its own
// libraries' handles and its own uploads. Lanes read what the device, or another lane, has made and waited for. They
// live as long as the device, because what they made may.
class DeviceLanes {
 public:
  virtual ~DeviceLanes() = default;
  // So many small fits at once keep the hardware busy; at least 1.
  virtual int usual_lanes() const = 0;
  // Lane i, counted from 0; made when it is first asked for, by the thread that the device belongs to. Errors:
  // kOutOfMemory, kInternal.
  virtual Device& lane(int i) = 0;
  // On the thread that will use the lane, before it does. Errors: kInternal.
  virtual void begin_lane(int i) = 0;
  // On the same thread: waits for the lane's work. What the lane has made and is freed later is freed behind the work
  // of the device itself.
  virtual void end_lane(int i) noexcept = 0;
};

// Null for a device that does one fit at a time, or shares its threads between fits (DeviceTraits::concurrent_fits).
inline DeviceLanes* device_lanes(Device& device) {
  return dynamic_cast<DeviceLanes*>(&device);
}

}   // namespace kedge::engine
