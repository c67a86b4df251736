// The list of jobs as a table.
#include "client/cli/job_table.h"

#include "client/cli/text_table.h"
#include "client/cli/units.h"

namespace kedge::cli {

std::string jobs_table(const std::vector<schema::Job>& jobs, const Page& page, double now) {
  using Align = TextTable::Align;
  using Fit = TextTable::Fit;
  constexpr int kWide = 120;   // columns
  const bool is_wide = page.columns == 0 || page.columns >= kWide;
  std::vector<TextTable::Column> columns{{"id"},
                                         {"state"},
                                         {"data: pipeline", Align::kLeft, Fit::kCut},
                                         {"score", Align::kRight},
                                         {"time", Align::kRight}};
  if (is_wide) columns.push_back({"submitted"});
  TextTable table(std::move(columns));
  for (const schema::Job& job : jobs) {
    const std::string why = job.error ? ": " + job.error->message : "";
    std::vector<std::string> cells{job.id, std::string(schema::job_state_name(job.state)), job_text(job.spec) + why,
                                   job.result ? score_text(*job.result, is_wide) : job.reason, run_time_text(job, now)};
    if (is_wide) cells.push_back(job.created);
    table.row(std::move(cells));
  }
  return table.text(page);
}

}   // namespace kedge::cli
