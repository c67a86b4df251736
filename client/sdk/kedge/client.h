// The C++ client of Kedge: describe a pipeline, ship it, follow it, read the result.
//
//   auto session = kedge::connect();
//   auto job = session.submit(kedge::openml("mnist_784", 1).rows(52667).scale(1 / 255.0),
//                             kedge::pipeline(kedge::StandardScaler{}, kedge::RandomForestClassifier{.n_estimators = 200}),
//                             kedge::cross_validate{.cv = 5});
//   for (const auto& event : job.events()) std::cout << event << '\n';
//   std::cout << job.result().mean("accuracy");
#pragma once

#include "kedge/dataset.h"      // IWYU pragma: export
#include "kedge/estimators.h"   // IWYU pragma: export
#include "kedge/map.h"          // IWYU pragma: export
#include "kedge/pipeline.h"     // IWYU pragma: export
#include "kedge/session.h"      // IWYU pragma: export
