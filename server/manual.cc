// kedged(8) in the language of man(7).
#include "server/manual.h"

#include <fmt/format.h>

#include <iterator>

namespace kedge::server {
namespace {

constexpr std::string_view kHead = R"(.SH NAME
kedged \- the Kedge server: runs scikit\-learn pipelines that clients describe
.SH SYNOPSIS
\fBkedged\fR [\fIsettings\fR]
.br
\fBkedged init\fR [\fB\-\-data\-dir\fR \fIDIR\fR] [\fB\-\-host\fR \fINAME\fR]
.br
\fBkedged token\fR \fBcreate\fR|\fBlist\fR|\fBrevoke\fR [\fIoptions\fR]
.SH DESCRIPTION
Takes jobs over HTTP, keeps them on disk, fetches their data and feeds workers, one for each device.
It listens on loopback unless \-\-listen names another address.
\fBinit\fR makes a certificate and a first token, and prints how to connect.
\fBtoken\fR keeps the tokens; a running server takes a new one at once.
.SH SETTINGS
Each is also read from \fIKEDGE_NAME\fR in the environment and from the TOML file of \fB\-\-config\fR.
A flag goes before the environment, the environment before the file.
)";

constexpr std::string_view kTail = R"(.SH SIGNALS
SIGTERM and SIGINT stop the server when its running jobs have ended, at most after \fB\-\-drain\fR; a second one ends it at once.
SIGHUP reads certificates, tokens and limits again.
.SH EXIT STATUS
.TP
\fB0\fR
Stopped by a signal.
.TP
\fB69\fR
The address is in use.
.TP
\fB74\fR
The data directory cannot be used.
.TP
\fB78\fR
The configuration is wrong.
.SH EXAMPLES
.nf
kedged \-\-listen 127.0.0.1:5334 \-\-data\-dir /var/lib/kedge
kedged init \-\-data\-dir /var/lib/kedge \-\-host gpu.example
kedged token create \-\-data\-dir /var/lib/kedge \-\-tenant alice \-\-expires 30d
.fi
.SH SEE ALSO
\fBkedge\fR(1)
)";

// Plain text for troff: no escapes, hyphens that can be copied, and no request at the beginning of a line.
std::string escaped(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

}   // namespace

std::string manual_page(std::span<const ManualRow> settings, std::string_view version) {
  std::string page = fmt::format(".TH KEDGED 8 \"\" \"kedge {}\" \"Kedge\"\n{}", version, kHead);
  for (const ManualRow& row : settings)
    fmt::format_to(std::back_inserter(page), ".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", escaped(row.flag),
                   row.takes_value ? " \\fIVALUE\\fR" : "", escaped(row.text));
  return page += kTail;
}

}   // namespace kedge::server
