// Conversions between the value types of schemas/ and the structs that Cap'n Proto generates: store(value,
// builder) and load(value, reader), one pair per type. Internal to the codec: the only header of ours that
// shows Cap'n Proto.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schemas/catalogue.capnp.h"
#include "schemas/catalogue.h"
#include "schemas/dataset.capnp.h"
#include "schemas/error.capnp.h"
#include "schemas/event.capnp.h"
#include "schemas/event.h"
#include "schemas/job.capnp.h"
#include "schemas/job.h"
#include "schemas/json_text.h"
#include "schemas/model.capnp.h"
#include "schemas/model.h"
#include "schemas/preview.h"
#include "schemas/value.capnp.h"
#include "schemas/worker.capnp.h"
#include "schemas/worker.h"

namespace kedge::schema {

inline constexpr int kMaxJsonDepth = 64;   // levels of arrays and objects in a JSON text
inline constexpr int kMaxValueDepth = 48;  // levels within one Value, so that what surrounds it fits as well

// A load() assumes a message that check() has passed; it reads each pointer once, so that the traversal limit
// is not spent twice.
void store(const Value&, wire::Value::Builder);
void load(Value&, wire::Value::Reader);
void store(const Error&, wire::Error::Builder);
void load(Error&, wire::Error::Reader);
void store(const DatasetRef&, wire::DatasetRef::Builder);
void load(DatasetRef&, wire::DatasetRef::Reader);
void store(const Select&, wire::Select::Builder);
void load(Select&, wire::Select::Reader);
void store(const PreviewRequest&, wire::PreviewRequest::Builder);
void load(PreviewRequest&, wire::PreviewRequest::Reader);
void store(const DatasetPreview&, wire::DatasetPreview::Builder);
void load(DatasetPreview&, wire::DatasetPreview::Reader);
void store(const JobSpec&, wire::JobSpec::Builder);
void load(JobSpec&, wire::JobSpec::Reader);
void store(const Result&, wire::Result::Builder);
void load(Result&, wire::Result::Reader);
void store(const Job&, wire::Job::Builder);
void load(Job&, wire::Job::Reader);
void store(const JobPage&, wire::JobPage::Builder);
void load(JobPage&, wire::JobPage::Reader);
void store(const Step&, wire::Step::Builder);
void load(Step&, wire::Step::Reader);
void store(const ModelInfo&, wire::ModelInfo::Builder);
void load(ModelInfo&, wire::ModelInfo::Reader);
void store(const ModelPage&, wire::ModelPage::Builder);
void load(ModelPage&, wire::ModelPage::Reader);
void store(const EventBody&, wire::Event::Builder);
void load(EventBody&, wire::Event::Reader);
void store(const Event&, wire::Event::Builder);
void load(Event&, wire::Event::Reader);
void store(const EstimatorInfo&, wire::EstimatorInfo::Builder);
void load(EstimatorInfo&, wire::EstimatorInfo::Reader);
void store(const Catalogue&, wire::Catalogue::Builder);
void load(Catalogue&, wire::Catalogue::Reader);
void store(const DeviceEntry&, wire::DeviceEntry::Builder);
void load(DeviceEntry&, wire::DeviceEntry::Reader);
void store(const DeviceList&, wire::DeviceList::Builder);
void load(DeviceList&, wire::DeviceList::Reader);
void store(const ServerInfo&, wire::ServerInfo::Builder);
void load(ServerInfo&, wire::ServerInfo::Reader);
void store(const WorkerCommand&, wire::WorkerCommand::Builder);
void load(WorkerCommand&, wire::WorkerCommand::Reader);
void store(const WorkerReport&, wire::WorkerReport::Builder);
void load(WorkerReport&, wire::WorkerReport::Reader);

void store(const ValueMap&, capnp::List<wire::NamedValue>::Builder);
void load(ValueMap&, capnp::List<wire::NamedValue>::Reader);
void store(const std::vector<std::string>&, capnp::List<capnp::Text>::Builder);
void load(std::vector<std::string>&, capnp::List<capnp::Text>::Reader);
void store(const std::vector<double>&, capnp::List<double>::Builder);
void load(std::vector<double>&, capnp::List<double>::Reader);

// A string as Cap'n Proto text, made valid UTF-8 if it is not: a stray byte in a log line must not lose the
// message.
class Utf8 {
 public:
  explicit Utf8(const std::string& text) : text_(&text) {  // borrows it for the statement
    if (!is_utf8(text)) repaired_ = valid_utf8(text), text_ = &repaired_;
  }
  Utf8(const Utf8&) = delete;
  operator capnp::Text::Reader() const { return {text_->c_str(), text_->size()}; }

 private:
  const std::string* text_;
  std::string repaired_;
};

inline std::string text(capnp::Text::Reader reader) {
  return {reader.begin(), reader.size()};
}

// Lists of structs. Range is a vector of values that have store() and load().
template <class Item, class ListBuilder>
void store_list(const std::vector<Item>& items, ListBuilder builder) {
  unsigned i = 0;
  for (const Item& item : items) store(item, builder[i++]);
}

template <class Item, class ListReader>
void load_list(std::vector<Item>& items, ListReader reader) {
  items.resize(reader.size());
  unsigned i = 0;
  for (Item& item : items) load(item, reader[i++]);
}

}  // namespace kedge::schema
