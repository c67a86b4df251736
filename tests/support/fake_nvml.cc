// A library with NVML's functions and two invented GPUs; the second has no power meter, and two errors at its start.
#include <cstring>

struct NvmlDevice {
  unsigned index;
};
struct NvmlEventSet {
  int left;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct EventData {
  NvmlDevice* device;
  unsigned long long type, data;
  unsigned instance, compute_instance;
};

namespace {

NvmlDevice devices[2] = {{0}, {1}};
constexpr int kSuccess = 0, kNotSupported = 3, kTimeout = 10;

}   // namespace

extern "C" {

int nvmlInit_v2() {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return *count = 2, kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice** device) {
  return *device = &devices[index], kSuccess;
}
int nvmlDeviceGetUUID(NvmlDevice* device, char* text, unsigned size) {
  std::strncpy(text, device->index == 0 ? "GPU-0" : "GPU-1", size);
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(NvmlDevice*, Utilization* used) {
  return *used = {75, 10}, kSuccess;
}
int nvmlDeviceGetMemoryInfo(NvmlDevice*, Memory* memory) {
  return *memory = {4096, 3072, 1024}, kSuccess;
}
int nvmlDeviceGetPowerUsage(NvmlDevice* device, unsigned* milliwatts) {
  return *milliwatts = 71500, device->index == 0 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetTotalEnergyConsumption(NvmlDevice*, unsigned long long* millijoules) {
  return *millijoules = 12250, kSuccess;
}
int nvmlDeviceGetTemperature(NvmlDevice*, int, unsigned* degrees) {
  return *degrees = 60, kSuccess;
}
int nvmlEventSetCreate(NvmlEventSet** set) {
  return *set = new NvmlEventSet{2}, kSuccess;
}
int nvmlEventSetFree(NvmlEventSet* set) {
  return delete set, kSuccess;
}
int nvmlDeviceRegisterEvents(NvmlDevice*, unsigned long long, NvmlEventSet*) {
  return kSuccess;
}
int nvmlEventSetWait_v2(NvmlEventSet* set, EventData* event, unsigned) {
  if (set->left-- <= 0) return kTimeout;
  return *event = {&devices[1], 8, 79, 0, 0}, kSuccess;
}

}   // extern "C"
