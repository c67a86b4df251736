// The handlers, one per row of routes.cc.
#pragma once

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

using http::Request;
using http::Response;
using http::net::awaitable;

awaitable<Response> create_job(const Api& api, Request request);
awaitable<Response> check_job(const Api& api, Request request);
awaitable<Response> list_jobs(const Api& api, Request request);
awaitable<Response> get_job(const Api& api, Request request);
awaitable<Response> get_result(const Api& api, Request request);
awaitable<Response> cancel_job(const Api& api, Request request);
awaitable<Response> get_events(const Api& api, Request request);
awaitable<Response> get_artifact(const Api& api, Request request);
awaitable<Response> list_models(const Api& api, Request request);
awaitable<Response> upload_model(const Api& api, Request request);
awaitable<Response> get_model(const Api& api, Request request);
awaitable<Response> delete_model(const Api& api, Request request);
awaitable<Response> download_model(const Api& api, Request request);
awaitable<Response> predict_rows(const Api& api, Request request);
awaitable<Response> transform_rows(const Api& api, Request request);
awaitable<Response> list_registry(const Api& api, Request request);
awaitable<Response> get_registered_model(const Api& api, Request request);
awaitable<Response> edit_registered_model(const Api& api, Request request);
awaitable<Response> delete_registered_model(const Api& api, Request request);
awaitable<Response> list_model_versions(const Api& api, Request request);
awaitable<Response> register_model(const Api& api, Request request);
awaitable<Response> get_model_version(const Api& api, Request request);
awaitable<Response> edit_model_version(const Api& api, Request request);
awaitable<Response> delete_model_version(const Api& api, Request request);
awaitable<Response> get_model_alias(const Api& api, Request request);
awaitable<Response> set_model_alias(const Api& api, Request request);
awaitable<Response> delete_model_alias(const Api& api, Request request);
awaitable<Response> inference_server(const Api& api, Request request);
awaitable<Response> inference_live(const Api& api, Request request);
awaitable<Response> inference_ready(const Api& api, Request request);
awaitable<Response> list_inference_models(const Api& api, Request request);
awaitable<Response> inference_statistics(const Api& api, Request request);
awaitable<Response> inference_model(const Api& api, Request request);
awaitable<Response> inference_model_ready(const Api& api, Request request);
awaitable<Response> infer(const Api& api, Request request);
awaitable<Response> repository_index(const Api& api, Request request);
awaitable<Response> load_model(const Api& api, Request request);
awaitable<Response> get_events_of_jobs(const Api& api, Request request);
awaitable<Response> list_tokens(const Api& api, Request request);
awaitable<Response> list_estimators(const Api& api, Request request);
awaitable<Response> get_estimator(const Api& api, Request request);
awaitable<Response> put_dataset(const Api& api, Request request);
awaitable<Response> list_datasets(const Api& api, Request request);
awaitable<Response> get_dataset(const Api& api, Request request);
awaitable<Response> delete_dataset(const Api& api, Request request);
awaitable<Response> preview_upload(const Api& api, Request request);
awaitable<Response> preview_dataset(const Api& api, Request request);
awaitable<Response> get_metrics(const Api& api, Request request);
awaitable<Response> get_openapi(const Api& api, Request request);
awaitable<Response> get_info(const Api& api, Request request);
awaitable<Response> get_index(const Api& api, Request request);
awaitable<Response> get_docs(const Api& api, Request request);
awaitable<Response> get_estimator_docs(const Api& api, Request request);
awaitable<Response> get_estimator_doc(const Api& api, Request request);
awaitable<Response> get_ui(const Api& api, Request request);
awaitable<Response> get_ui_file(const Api& api, Request request);
awaitable<Response> get_livez(const Api& api, Request request);
awaitable<Response> get_readyz(const Api& api, Request request);

}  // namespace kedge::server::api
