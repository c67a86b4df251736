// kedge: describe a pipeline in a file, ship it to a server, follow it, read the result.
#include <cstdio>
#include <exception>

#include "client/cli/command_line.h"
#include "client/cli/report.h"

int main(int argc, char** argv) {
  using namespace kedge::cli;
  using kedge::schema::Error, kedge::schema::ErrorCode;
  CommandLine line;
  const Command* command = nullptr;
  try {
    if (argc < 2) return std::fputs(line.help({}).c_str(), stderr), kUsage;
    command = line.parse({argv + 1, argv + argc});
    if (!command) return print_text(line.text(), line.options()), kSucceeded;
  } catch (const Error& error) {
    report(error, line.options());
    return kUsage;
  }
  try {
    return command->run(line.options());
  } catch (const Error& error) {
    return report(error, line.options());
  } catch (const std::exception& error) {
    return report(Error(ErrorCode::kInternal, error.what()), line.options());
  }
}
