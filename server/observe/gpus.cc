// The part of NVML that is used, declared as in its documentation (https://docs.nvidia.com/deploy/nvml-api), and its figures.
#include "server/observe/gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace kedge::server::observe {
namespace {

using Device = struct NvmlDevice*;
using EventSet = struct NvmlEventSet*;
struct Utilization {
  unsigned gpu = 0, memory = 0;   // percent
};
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;   // bytes
};
struct EventData {
  Device device = nullptr;
  unsigned long long type = 0, data = 0;
  unsigned instance = 0, compute_instance = 0;
};
constexpr int kSuccess = 0, kChip = 0;   // of statuses, of sensors
constexpr unsigned long long kXidEvent = 8;
constexpr int kMostEvents = 1000;   // read in one scrape

// Closes the library with the last function of it.
class Library {
 public:
  explicit Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_) ::dlclose(handle_);
  }
  Library(const Library&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (!function && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }   // the first that was not found

 private:
  void* handle_;
  std::string missing_;
};

}   // namespace

struct Gpus::Nvml {
  struct Gpu {
    Device device = nullptr;
    Labels labels;
    std::map<unsigned long long, double> errors;   // by XID, since the start
  };

  explicit Nvml(const std::string& name) : library(name) {
    if (!library) return;
    library.find(init, "nvmlInit_v2"), library.find(shutdown, "nvmlShutdown");
    library.find(count, "nvmlDeviceGetCount_v2"), library.find(handle, "nvmlDeviceGetHandleByIndex_v2");
    library.find(uuid, "nvmlDeviceGetUUID"), library.find(utilization, "nvmlDeviceGetUtilizationRates");
    library.find(memory, "nvmlDeviceGetMemoryInfo"), library.find(power, "nvmlDeviceGetPowerUsage");
    library.find(energy, "nvmlDeviceGetTotalEnergyConsumption"), library.find(temperature, "nvmlDeviceGetTemperature");
    library.find(new_events, "nvmlEventSetCreate"), library.find(free_events, "nvmlEventSetFree");
    library.find(listen, "nvmlDeviceRegisterEvents"), library.find(next_event, "nvmlEventSetWait_v2");
  }
  ~Nvml() {
    if (events) free_events(events);
    if (running) shutdown();
  }

  // Empty, or why it cannot be used.
  std::string start() {
    if (!library) return "it cannot be loaded";
    if (!library.missing().empty()) return fmt::format("it has no {}", library.missing());
    if (const int status = init(); status != kSuccess) return fmt::format("it answers with status {}", status);
    running = true;
    unsigned n = 0;
    if (count(&n) != kSuccess || n == 0) return "it knows of no GPU";
    if (new_events(&events) != kSuccess) events = nullptr;
    for (unsigned i = 0; i < n; ++i) add(i);
    return {};
  }

  void add(unsigned index) {
    Gpu gpu;
    char id[96] = "";
    if (handle(index, &gpu.device) != kSuccess) return;
    uuid(gpu.device, id, sizeof id);
    gpu.labels = {{"gpu", std::to_string(index)}, {"uuid", id}};
    if (events) listen(gpu.device, kXidEvent, events);
    gpus.push_back(std::move(gpu));
  }

  void read_errors() {
    EventData event;
    for (int i = 0; events && i < kMostEvents && next_event(events, &event, /*timeout_ms=*/0) == kSuccess; ++i)
      for (Gpu& gpu : gpus)
        if (gpu.device == event.device) ++gpu.errors[event.data];
  }

  Library library;
  int (*init)() = nullptr, (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr, (*handle)(unsigned, Device*) = nullptr, (*uuid)(Device, char*, unsigned) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr, (*memory)(Device, Memory*) = nullptr, (*power)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr, (*temperature)(Device, int, unsigned*) = nullptr;
  int (*new_events)(EventSet*) = nullptr, (*free_events)(EventSet) = nullptr;
  int (*listen)(Device, unsigned long long, EventSet) = nullptr, (*next_event)(EventSet, EventData*, unsigned) = nullptr;
  bool running = false;
  EventSet events = nullptr;
  std::mutex mutex;   // guards the errors, and keeps scrapes apart
  std::vector<Gpu> gpus;
};

namespace {

using Value = std::optional<double>;

// A family of one sample for each GPU; no value: the GPU does not know.
template <class Nvml>
struct Row {
  const char *name, *type, *help;
  Value (*value)(const Nvml&, Device);
};

template <class Nvml>
constexpr std::array<Row<Nvml>, 6> kRows{{
    {"kedge_gpu_utilization_ratio", "gauge", "Share of the last moment in which a kernel ran.",
     [](const Nvml& nvml, Device device) -> Value {
       Utilization used;
       return nvml.utilization(device, &used) == kSuccess ? Value(used.gpu / 100.0) : std::nullopt;
     }},
    {"kedge_gpu_memory_used_bytes", "gauge", "Memory in use, by all processes.",
     [](const Nvml& nvml, Device device) -> Value {
       Memory memory;
       return nvml.memory(device, &memory) == kSuccess ? Value(static_cast<double>(memory.used)) : std::nullopt;
     }},
    {"kedge_gpu_memory_total_bytes", "gauge", "Memory of the GPU.",
     [](const Nvml& nvml, Device device) -> Value {
       Memory memory;
       return nvml.memory(device, &memory) == kSuccess ? Value(static_cast<double>(memory.total)) : std::nullopt;
     }},
    {"kedge_gpu_power_watts", "gauge", "Power that the GPU draws.",
     [](const Nvml& nvml, Device device) -> Value {
       unsigned milliwatts = 0;
       return nvml.power(device, &milliwatts) == kSuccess ? Value(milliwatts / 1e3) : std::nullopt;
     }},
    {"kedge_gpu_energy_joules_total", "counter", "Energy since the driver was loaded.",
     [](const Nvml& nvml, Device device) -> Value {
       unsigned long long millijoules = 0;
       return nvml.energy(device, &millijoules) == kSuccess ? Value(static_cast<double>(millijoules) / 1e3) : std::nullopt;
     }},
    {"kedge_gpu_temperature_celsius", "gauge", "Temperature of the chip.",
     [](const Nvml& nvml, Device device) -> Value {
       unsigned degrees = 0;
       return nvml.temperature(device, kChip, &degrees) == kSuccess ? Value(degrees) : std::nullopt;
     }},
}};

}   // namespace

Gpus::Gpus(const std::string& library) {
  if (library.empty()) return;
  auto nvml = std::make_unique<Nvml>(library);
  problem_ = nvml->start();
  if (problem_.empty()) nvml_ = std::move(nvml);
  else problem_ = fmt::format("{}: {}", library, problem_);
}

Gpus::~Gpus() = default;

void Gpus::append(Exposition& out) {
  if (!nvml_) return;
  const std::lock_guard lock(nvml_->mutex);
  for (const Row<Nvml>& row : kRows<Nvml>) {
    out.family(row.name, row.type, row.help);
    for (const auto& gpu : nvml_->gpus)
      if (const Value value = row.value(*nvml_, gpu.device)) out.sample(gpu.labels, *value);
  }
  nvml_->read_errors();
  out.family("kedge_gpu_errors_total", "counter", "Errors that the driver has reported since the start of the server, by XID.");
  for (const auto& gpu : nvml_->gpus)
    for (const auto& [xid, count] : gpu.errors) {
      Labels labels = gpu.labels;
      labels.emplace_back("xid", std::to_string(xid));
      out.sample(labels, count);
    }
}

}   // namespace kedge::server::observe
