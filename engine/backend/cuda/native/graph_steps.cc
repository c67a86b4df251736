// Source: CUDA C++ Programming Guide, "CUDA Graphs": stream capture, graph memory nodes. cuBLAS's guide, "CUDA Graphs
// support": its routines can be captured, and their scalars are those of the capture.
#include "engine/backend/cuda/native/graph_steps.h"

#include <exception>

#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {
namespace {

class GraphSteps final : public RecordedSteps {
 public:
  GraphSteps(cudaGraphExec_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {}
  ~GraphSteps() override { static_cast<void>(cudaGraphExecDestroy(graph_)); }   // a run under way ends first
  void run() override { KEDGE_CHECK(cudaGraphLaunch(graph_, stream_)); }

 private:
  cudaGraphExec_t graph_;
  cudaStream_t stream_;
};

// A failed capture leaves an error that a later launch must not find.
std::unique_ptr<RecordedSteps> none() {
  cudaGetLastError();
  return nullptr;
}

}   // namespace

std::unique_ptr<RecordedSteps> capture_steps(cudaStream_t stream, const std::function<void()>& ops) {
  // Other threads, which work on other streams, may wait and allocate meanwhile.
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return none();
  std::exception_ptr failure;
  bool is_captured = true;
  try {
    ops();
  } catch (const schema::Error& error) {
    is_captured = false;
    if (error.code != schema::ErrorCode::kInternal) failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  cudaGraph_t graph = nullptr;
  is_captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && is_captured;
  cudaGraphExec_t ready = nullptr;
  if (is_captured && !failure) is_captured = cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess;
  if (graph) static_cast<void>(cudaGraphDestroy(graph));
  if (failure || !is_captured) {
    std::unique_ptr<RecordedSteps> nothing = none();
    if (failure) std::rethrow_exception(failure);
    return nothing;
  }
  return std::make_unique<GraphSteps>(ready, stream);
}

}   // namespace kedge::engine
