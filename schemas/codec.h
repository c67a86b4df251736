// The one codec: values of schemas/ to and from JSON text and Cap'n Proto bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/error.h"
#include "schemas/event.h"
#include "schemas/job.h"
#include "schemas/model.h"
#include "schemas/preview.h"
#include "schemas/worker.h"

namespace kedge::schema {

// Instantiated for JobSpec, Job, JobPage, Result, Event, Error, Catalogue, EstimatorInfo, ServerInfo, DeviceList, ModelInfo,
// ModelPage, PreviewRequest, DatasetPreview (JSON and
// binary) and WorkerCommand, WorkerReport (binary only).

// Compact JSON on one line; optional fields that have their default are left out. README.md says how numbers are written.
template <class T>
std::string to_json(const T& value);

// Strict: unknown field (nearest name suggested), wrong type, duplicate key, two members of a union, unknown enum value,
// trailing text, depth above 64 and invalid UTF-8 are Errors with `where` set, e.g. "pipeline[1].params.n_estimators".
template <class T>
T from_json(std::string_view text);

// A flat Cap'n Proto message (segment table and segments).
template <class T>
std::vector<std::byte> to_binary(const T& value);

// Bounded: traversal limit 4 x message size, pointers 192 deep. The same checks as from_json where they make sense.
// Both refuse more than 200,000 items in a job's description (kBodyTooLarge), an inline CSV being one.
template <class T>
T from_binary(std::span<const std::byte> bytes);

// Any JSON text as a Value, and a Value as JSON text.
Value value_from_json(std::string_view text);
std::string value_to_json(const Value& value);

}  // namespace kedge::schema
