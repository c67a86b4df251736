// Every call that the server offers, one row each.
#include <array>

#include "server/api/api.h"

namespace kedge::server::api {

// cluster.cc
Handler check_ranks;
// datasets.cc
Handler put_dataset, list_datasets, get_dataset, delete_dataset;
// documents.cc
Handler get_metrics, get_openapi;
// estimator_pages.cc
Handler get_estimator_docs, get_estimator_doc;
// estimators.cc
Handler list_estimators, get_estimator;
// events.cc
Handler get_events, get_events_of_jobs;
// health.cc
Handler get_livez, get_readyz;
// inference.cc
Handler inference_server, inference_live, inference_ready, list_inference_models, inference_statistics, inference_model,
    inference_model_ready, infer, repository_index, load_model;
// info.cc
Handler get_info, get_index, get_docs;
// jobs.cc
Handler create_job, check_job, list_jobs, get_job, get_result, cancel_job;
// models.cc
Handler get_artifact, list_models, upload_model, get_model, delete_model, download_model, predict_rows, transform_rows,
    get_serving, set_serving, get_prediction_log, get_drift, reset_drift;
// preview.cc
Handler preview_upload, preview_dataset;
// registry.cc
Handler list_registry, get_registered_model, edit_registered_model, delete_registered_model, list_model_versions,
    register_model, get_model_version, edit_model_version, delete_model_version, get_model_alias, set_model_alias,
    delete_model_alias;
// tokens.cc
Handler list_tokens;
// ui.cc
Handler get_ui, get_ui_file, get_ui_slash;

namespace {

using http::Access;
using http::BodyForm;

struct Row {
  std::string_view method;
  std::string_view path;
  Handler* handler;
  Access access;
  BodyForm body = BodyForm::kWhole;
};

constexpr std::array kRows{
    Row{"GET", "/", get_index, Access::kPublic},
    Row{"GET", "/ui", get_ui_slash, Access::kPublic},
    Row{"GET", "/ui/", get_ui, Access::kPublic},
    Row{"GET", "/ui/{file}", get_ui_file, Access::kPublic},
    Row{"GET", "/docs", get_docs, Access::kPublic},
    Row{"GET", "/docs/estimators", get_estimator_docs, Access::kPublic},
    Row{"GET", "/docs/estimators/{name}", get_estimator_doc, Access::kPublic},
    Row{"GET", "/livez", get_livez, Access::kPublic},
    Row{"GET", "/readyz", get_readyz, Access::kPublic},
    Row{"GET", "/metrics", get_metrics, Access::kRead},
    Row{"GET", "/openapi.json", get_openapi, Access::kPublic},
    Row{"GET", "/v1/info", get_info, Access::kRead},
    Row{"POST", "/v1/cluster/check", check_ranks, Access::kAdmin},
    Row{"GET", "/v1/tokens", list_tokens, Access::kRead},
    Row{"GET", "/v1/estimators", list_estimators, Access::kRead},
    Row{"GET", "/v1/estimators/{name}", get_estimator, Access::kRead},
    Row{"GET", "/v1/datasets", list_datasets, Access::kRead},
    Row{"PUT", "/v1/datasets/{name}", put_dataset, Access::kSubmit, BodyForm::kPieces},
    Row{"GET", "/v1/datasets/{name}", get_dataset, Access::kRead},
    Row{"DELETE", "/v1/datasets/{name}", delete_dataset, Access::kSubmit},
    Row{"GET", "/v1/datasets/{name}/preview", preview_upload, Access::kRead},
    Row{"POST", "/v1/datasets/preview", preview_dataset, Access::kSubmit},
    Row{"POST", "/v1/jobs", create_job, Access::kSubmit, BodyForm::kPiecesOfMultipart},
    Row{"GET", "/v1/jobs", list_jobs, Access::kRead},
    Row{"POST", "/v1/jobs/check", check_job, Access::kSubmit},
    Row{"GET", "/v1/jobs/{id}", get_job, Access::kRead},
    Row{"DELETE", "/v1/jobs/{id}", cancel_job, Access::kSubmit},
    Row{"POST", "/v1/jobs/{id}/cancel", cancel_job, Access::kSubmit},
    Row{"GET", "/v1/jobs/{id}/events", get_events, Access::kRead},
    Row{"GET", "/v1/jobs/{id}/result", get_result, Access::kRead},
    Row{"GET", "/v1/events", get_events_of_jobs, Access::kRead},
    Row{"GET", "/v1/jobs/{id}/artifacts/{name}", get_artifact, Access::kRead},
    Row{"GET", "/v1/models", list_models, Access::kRead},
    Row{"POST", "/v1/models", upload_model, Access::kSubmit},
    Row{"GET", "/v1/models/{id}", get_model, Access::kRead},
    Row{"DELETE", "/v1/models/{id}", delete_model, Access::kSubmit},
    Row{"GET", "/v1/models/{id}/download", download_model, Access::kRead},
    Row{"GET", "/v1/models/{id}/drift", get_drift, Access::kRead},
    Row{"DELETE", "/v1/models/{id}/drift", reset_drift, Access::kSubmit},
    Row{"GET", "/v1/models/{id}/log", get_prediction_log, Access::kRead},
    Row{"GET", "/v1/models/{id}/serving", get_serving, Access::kRead},
    Row{"PUT", "/v1/models/{id}/serving", set_serving, Access::kSubmit},
    Row{"POST", "/v1/models/{id}/predict", predict_rows, Access::kSubmit},
    Row{"POST", "/v1/models/{id}/transform", transform_rows, Access::kSubmit},
    Row{"GET", "/v1/registry", list_registry, Access::kRead},
    Row{"GET", "/v1/registry/{name}", get_registered_model, Access::kRead},
    Row{"PATCH", "/v1/registry/{name}", edit_registered_model, Access::kSubmit},
    Row{"DELETE", "/v1/registry/{name}", delete_registered_model, Access::kSubmit},
    Row{"GET", "/v1/registry/{name}/versions", list_model_versions, Access::kRead},
    Row{"POST", "/v1/registry/{name}/versions", register_model, Access::kSubmit},
    Row{"GET", "/v1/registry/{name}/versions/{version}", get_model_version, Access::kRead},
    Row{"PATCH", "/v1/registry/{name}/versions/{version}", edit_model_version, Access::kSubmit},
    Row{"DELETE", "/v1/registry/{name}/versions/{version}", delete_model_version, Access::kSubmit},
    Row{"GET", "/v1/registry/{name}/aliases/{alias}", get_model_alias, Access::kRead},
    Row{"PUT", "/v1/registry/{name}/aliases/{alias}", set_model_alias, Access::kSubmit},
    Row{"DELETE", "/v1/registry/{name}/aliases/{alias}", delete_model_alias, Access::kSubmit},
    Row{"GET", "/v2", inference_server, Access::kRead},
    Row{"GET", "/v2/", inference_server, Access::kRead},
    Row{"GET", "/v2/health/live", inference_live, Access::kPublic},
    Row{"GET", "/v2/health/ready", inference_ready, Access::kPublic},
    Row{"GET", "/v2/models", list_inference_models, Access::kRead},
    Row{"GET", "/v2/models/stats", inference_statistics, Access::kRead},
    Row{"GET", "/v2/models/{model}", inference_model, Access::kRead},
    Row{"GET", "/v2/models/{model}/ready", inference_model_ready, Access::kRead},
    Row{"POST", "/v2/models/{model}/infer", infer, Access::kSubmit},
    Row{"GET", "/v2/models/{model}/stats", inference_statistics, Access::kRead},
    Row{"GET", "/v2/models/{model}/versions/{version}", inference_model, Access::kRead},
    Row{"GET", "/v2/models/{model}/versions/{version}/ready", inference_model_ready, Access::kRead},
    Row{"POST", "/v2/models/{model}/versions/{version}/infer", infer, Access::kSubmit},
    Row{"GET", "/v2/models/{model}/versions/{version}/stats", inference_statistics, Access::kRead},
    Row{"POST", "/v2/repository/index", repository_index, Access::kRead},
    Row{"POST", "/v2/repository/models/{model}/load", load_model, Access::kSubmit},
    Row{"POST", "/v2/repository/models/{model}/unload", load_model, Access::kSubmit},
};

}  // namespace

std::vector<http::Route> routes(const Api& api) {
  std::vector<http::Route> routes;
  for (const Row& row : kRows)
    routes.push_back({row.method, row.path, [&api, handler = row.handler](Request request) {
                        return handler(api, std::move(request));
                      },
                      row.access, row.body});
  return routes;
}

}  // namespace kedge::server::api
