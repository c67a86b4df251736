// libcuda.so.1 with the functions that choose a CUDA plug-in. KEDGE_FAKE_DRIVER: the CUDA version that it serves, 12020
// for 12.2; KEDGE_FAKE_CAPABILITIES: of its devices, "70,80"; without it none initialises. KEDGE_FAKE_UUID: the first
// byte of the first device's, which counts up; without it the driver does not say them.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalid = 1, kNoDevice = 100, kMajor = 75;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::vector<int> capabilities() {
  std::vector<int> all;
  std::istringstream text(variable("KEDGE_FAKE_CAPABILITIES"));
  for (std::string one; std::getline(text, one, ',');) all.push_back(std::stoi(one));
  return all;
}

}   // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  const std::string told = variable("KEDGE_FAKE_DRIVER");
  if (told.empty()) return kInvalid;
  *version = std::stoi(told);
  return kSuccess;
}
int cuInit(unsigned) {
  return capabilities().empty() ? kNoDevice : kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(capabilities().size());
  return kSuccess;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const int has = capabilities().at(static_cast<std::size_t>(device));
  *value = attribute == kMajor ? has / 10 : has % 10;
  return kSuccess;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  const std::string first = variable("KEDGE_FAKE_UUID");
  if (first.empty()) return kInvalid;
  for (int i = 0; i < 16; ++i) uuid[i] = 0;
  uuid[0] = static_cast<unsigned char>(std::stoi(first) + device);
  return kSuccess;
}
}
