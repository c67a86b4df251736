// kedge map: reads the specs, keeps the journal, prints what has ended.
#include "client/cli/map_command.h"

#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "client/cli/target.h"
#include "crypto/digest.h"
#include "crypto/random.h"
#include "kedge/map.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

struct NamedSpec {
  std::string name;   // the file, with the place in its list
  schema::JobSpec spec;
};

std::string text_of(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kNotFound, fmt::format("cannot read the spec file {}", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file holds a job or a list of jobs.
std::vector<NamedSpec> read_specs(const std::vector<std::string>& files) {
  std::vector<NamedSpec> specs;
  for (const std::string& file : files) {
    const std::string text = text_of(file);
    const Value whole = schema::value_from_json(text);
    const auto* list = std::get_if<ValueList>(&whole.data);
    if (!list) specs.push_back({file, schema::from_json<schema::JobSpec>(text)});
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const std::string name = fmt::format("{}[{}]", file, i);
      try {
        specs.push_back({name, schema::from_json<schema::JobSpec>(schema::value_to_json((*list)[i]))});
      } catch (const Error& error) {
        throw Error(error.code, fmt::format("{}: {}", name, error.message), error.where);
      }
    }
  }
  if (specs.empty()) throw Error(ErrorCode::kInvalidValue, "the spec files hold no job");
  return specs;
}

// Which server has which job, a line each. The first line says for which specs and servers, so that another list of
// jobs is not taken for this one.
class Journal {
 public:
  Journal(const std::string& file, const std::vector<NamedSpec>& specs, const std::vector<std::string>& servers)
      : file_(file) {
    std::string all;
    for (const NamedSpec& named : specs) all += schema::to_json(named.spec) + "\n";
    for (const std::string& server : servers) all += server + "\n";
    const std::string digest = crypto::sha256_hex(all);
    key_ = crypto::random_hex(8);
    if (file.empty()) return;
    read(digest);
    out_.open(file, std::ios::app);
    if (known_.empty() && !was_there_) write(fmt::format("kedge-map {} {}", digest, key_));
  }

  const std::string& key() const { return key_; }
  const std::map<std::size_t, MapPlace>& known() const { return known_; }

  void note(std::size_t spec, const MapPlace& place) {
    if (!file_.empty()) write(fmt::format("{} {} {}", spec, place.server, place.job));
  }

 private:
  void read(const std::string& digest) {
    std::ifstream in(file_);
    std::string line, word, of;
    if (!std::getline(in, line)) return;
    was_there_ = true;
    if (std::istringstream first(line); !(first >> word >> of >> key_) || word != "kedge-map")
      throw Error(ErrorCode::kInvalidValue, fmt::format("{} is no journal of kedge map", file_), "--journal");
    if (of != digest)
      throw Error(ErrorCode::kInvalidValue, fmt::format("{} is the journal of other specs or servers", file_),
                  "--journal");
    while (std::getline(in, line)) {
      std::size_t spec = 0;
      MapPlace place;
      std::string rest;
      // A line that was cut off by the end of the process: the job's key gives the same job.
      if (std::istringstream words(line); (words >> spec >> place.server >> place.job) && !(words >> rest) && !in.eof())
        known_[spec] = place;
    }
  }
  void write(const std::string& line) {
    out_ << line << '\n' << std::flush;
    if (!out_) throw Error(ErrorCode::kUnavailable, fmt::format("cannot write {}", file_), "--journal");
  }

  const std::string file_;
  std::string key_;
  bool was_there_ = false;
  std::map<std::size_t, MapPlace> known_;
  std::ofstream out_;
};

std::string score_text(const Result& result) {
  std::string text;
  for (const auto& [name, score] : result.scores)
    text += fmt::format("{}{} {:.6g}", text.empty() ? "" : "  ", name, score.mean);
  return text;
}

std::string json_line(const NamedSpec& named, const Mapped& mapped, const std::string& server) {
  ValueMap line{{"spec", named.name}, {"server", server}, {"job", mapped.place.job}};
  if (mapped.result) {
    line.emplace_back("result", schema::value_from_json(schema::to_json<schema::Result>(*mapped.result)));
  } else {
    line.emplace_back("error", ValueMap{{"code", std::string(schema::error_code_name(mapped.error->code))},
                                        {"message", mapped.error->message}});
  }
  return schema::value_to_json(line);
}

void print(const NamedSpec& named, const Mapped& mapped, const std::string& server, bool as_json) {
  if (as_json) fmt::print("{}\n", json_line(named, mapped, server));
  else if (mapped.result) fmt::print("{}  {}  {}\n", named.name, mapped.place.job, score_text(*mapped.result));
  else
    fmt::print("{}  {}  {} [{}]\n", named.name, mapped.place.job, mapped.error->message,
               schema::error_code_name(mapped.error->code));
  std::fflush(stdout);
}

}   // namespace

int map(const Options& options) {
  const std::vector<NamedSpec> named = read_specs(options.arguments);
  std::vector<Session> servers;
  for (const std::string& name : options.servers) servers.push_back(connect_kept(name));
  std::vector<std::string> names = options.servers;
  if (servers.empty()) servers.push_back(connect_server(options)), names.push_back(server_url(options));
  Journal journal(options.file, named, names);
  std::vector<schema::JobSpec> specs;
  for (const NamedSpec& one : named) specs.push_back(one.spec);
  MapOptions how{.in_flight = options.in_flight,
                 .ordered = !options.as_they_come,
                 .key = "map-" + journal.key(),
                 .known = journal.known()};
  how.submitted = [&](std::size_t spec, const MapPlace& place) { journal.note(spec, place); };
  int failed = 0;
  for (const Mapped& mapped : map_jobs(std::move(servers), std::move(specs), std::move(how))) {
    failed += mapped.error.has_value();
    print(named[mapped.spec], mapped, mapped.place.job.empty() ? "" : names[mapped.place.server], options.json);
  }
  if (failed > 0) fmt::print(stderr, "{} of {} jobs failed\n", failed, named.size());
  return failed > 0 ? kFailed : kSucceeded;
}

}   // namespace kedge::cli
