// Flags over environment over file over defaults.
#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

Config load(std::vector<std::string> arguments, std::map<std::string, std::string> variables = {}) {
  variables.try_emplace("HOME", "/home/me");
  return load_config(arguments, [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

Error error_of(std::vector<std::string> arguments, std::map<std::string, std::string> variables = {}) {
  try {
    load(std::move(arguments), std::move(variables));
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::kInternal, "nothing was refused");
}

std::string toml_file(const std::string& text) {
  const std::string path = testing::TempDir() + "kedged_config_test.toml";
  std::ofstream(path) << text;
  return path;
}

TEST(Config, HasUsefulDefaults) {
  const Config config = load({});
  EXPECT_EQ(config.listen_host, "127.0.0.1");
  EXPECT_EQ(config.listen_port, 5334);
  EXPECT_EQ(config.data_dir, "/home/me/.local/state/kedge");
  EXPECT_EQ(load({}, {{"XDG_STATE_HOME", "/state"}}).data_dir, "/state/kedge");
}

TEST(Config, HasAManualWithEverySettingOfItsHelp) {
  const std::string help = load({"--help"}).print, page = load({"--man"}).print;
  EXPECT_TRUE(page.starts_with(".TH KEDGED 8 "));
  int n_flags = 0;
  for (std::size_t at = 0; (at = help.find("\n  --", at)) != std::string::npos; ++n_flags) {
    at += 5;
    std::string roff;
    for (const char c : help.substr(at, help.find_first_of(" \n", at) - at)) roff += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(page.find("\\-\\-" + roff + "\\fR"), std::string::npos) << roff;
  }
  EXPECT_GT(n_flags, 30);
}

TEST(Config, LetsFlagsWinOverEnvironmentOverFile) {
  const std::string file =
      toml_file("threads = 1\nlog-level = 'debug'\nopenml_url = 'http://file'\nallow-fetch = ['a', 'b']\n");
  const Config config =
      load({"--config", file, "--threads", "3"}, {{"KEDGE_THREADS", "2"}, {"KEDGE_LOG_LEVEL", "error"}});
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.log_level, "error");
  EXPECT_EQ(config.openml_url, "http://file");
  EXPECT_EQ(config.allow_fetch, (std::vector<std::string>{"a", "b"}));
}

TEST(Config, TakesTheWeightsOfTenants) {
  const std::string file = toml_file("tenant-weight = ['alice=4', 'CN=box=0.5']\n");
  EXPECT_EQ(load({"--config", file}).tenant_weights, (std::map<std::string, double>{{"alice", 4}, {"CN=box", 0.5}}));
  EXPECT_EQ(load({"--config", file, "--tenant-weight", "bob=2,carol=3"}).tenant_weights,
            (std::map<std::string, double>{{"bob", 2}, {"carol", 3}}));
  for (const char* bad : {"alice", "=2", "alice=", "alice=0", "alice=-1", "alice=nan", "alice=inf", "alice=2x", "alice=1e9"})
    EXPECT_EQ(error_of({"--tenant-weight", bad}).where, "--tenant-weight") << bad;
}

TEST(Config, TakesTheClusterFromItsTableOrFromFlags) {
  const Config config = load({"--config", toml_file("[cluster]\nranks = 4\nhosts = ['n1:2', 'n2:2']\n")});
  EXPECT_EQ(config.cluster_ranks, 4);
  EXPECT_EQ(config.cluster_launcher, "mpirun");
  EXPECT_EQ(config.cluster_hosts, (std::vector<std::string>{"n1:2", "n2:2"}));
  EXPECT_EQ(load({}).cluster_ranks, 0);
  EXPECT_EQ(load({"--cluster-ranks", "2", "--cluster-launcher", "srun"}).cluster_launcher, "srun");
  EXPECT_EQ(config.cluster_device, "cpu");
  EXPECT_EQ(load({"--config", toml_file("[cluster]\ndevice = 'cuda'\n")}).cluster_device, "cuda");
  EXPECT_EQ(load({"--cluster-device", "auto"}).cluster_device, "auto");
}

TEST(Config, RefusesAClusterThatCannotBeStarted) {
  EXPECT_EQ(error_of({"--cluster-ranks", "-1"}).where, "--cluster-ranks");
  EXPECT_EQ(error_of({"--cluster-launcher", "ssh"}).message,
            "--cluster-launcher is 'ssh', must be mpirun, srun or command");
  EXPECT_EQ(error_of({"--cluster-device", "cuda:1"}).message,
            "--cluster-device is 'cuda:1', must be cpu, cuda or auto");
  EXPECT_EQ(error_of({"--cluster-command", "mpiexec -n 2"}).where, "--cluster-command");
  EXPECT_EQ(error_of({"--cluster-ranks", "2", "--cluster-launcher", "command"}).where, "cluster-command");
  EXPECT_EQ(error_of({"--cluster-command", "mpiexec {worker}"}).message,
            "cluster-command needs cluster-launcher command");
  EXPECT_EQ(error_of({"--cluster-launcher", "srun", "--cluster-hosts", "n1"}).where, "cluster-hosts");
  EXPECT_THAT(error_of({"--config", toml_file("[cluster]\nrank = 4\n")}).message,
              testing::HasSubstr("did you mean 'cluster-ranks'?"));
}

// A file as `kedge host-agent --new-key` writes it, as far as the settings look.
std::string key_file(std::filesystem::perms mode, const std::string& text = "kedge-host-token: secret\n") {
  const std::string path = testing::TempDir() + "kedged_config_test.key";
  std::ofstream(path) << text;
  std::filesystem::permissions(path, mode);
  return path;
}

constexpr auto kOwnersAlone = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

TEST(Config, TakesTheKeyOfTheHostsAgents) {
  const std::string key = key_file(kOwnersAlone);
  EXPECT_EQ(load({"--cluster-hosts", "n1,n2", "--cluster-key", key}).cluster_key, key);
  EXPECT_EQ(load({"--config", toml_file("[cluster]\nhosts = ['n1', 'n2']\nkey = '" + key + "'\n")}).cluster_key, key);
  EXPECT_EQ(load({}).cluster_key, "");
}

TEST(Config, RefusesAKeyThatAgentsCannotBeCalledWith) {
  const auto error_with = [](const std::string& key) {
    return error_of({"--cluster-hosts", "n1", "--cluster-key", key});
  };
  const Error missing = error_with("/nowhere/cluster.key");
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.message, testing::HasSubstr("cluster-key is '/nowhere/cluster.key', which cannot be read"));
  EXPECT_EQ(missing.where, "cluster-key");
  EXPECT_THAT(error_with(key_file(kOwnersAlone | std::filesystem::perms::others_read)).message,
              testing::HasSubstr("of mode 0604, must be closed to others"));
  EXPECT_THAT(error_with(key_file(kOwnersAlone, "-----BEGIN CERTIFICATE-----\n")).message,
              testing::HasSubstr("must be a key of `kedge host-agent --new-key`"));
  EXPECT_THAT(error_with(key_file(kOwnersAlone, "")).message, testing::HasSubstr("must be a key of"));
  EXPECT_THAT(error_with(testing::TempDir()).message, testing::HasSubstr("must be a file"));
  EXPECT_EQ(error_with("my key").where, "--cluster-key");
  const std::string key = key_file(kOwnersAlone);
  EXPECT_EQ(error_of({"--cluster-key", key}).message, "cluster-key needs cluster-hosts: it is for the agents there");
  EXPECT_EQ(error_of({"--cluster-key", key, "--cluster-hosts", "n1", "--cluster-launcher", "srun"}).where,
            "cluster-hosts");
  EXPECT_EQ(error_of({"--config", toml_file("[cluster]\nhosts = ['n1']\nkey = ['" + key + "']\n")}).code,
            ErrorCode::kWrongType);
  EXPECT_EQ(error_of({"--config", toml_file("[cluster]\nhosts = ['n1']\nkey = 1.5\n")}).code, ErrorCode::kWrongType);
}

TEST(Config, TakesTimesWithAndWithoutAUnit) {
  const Config config = load({"--keep-jobs", "7d", "--drain", "90"}, {{"KEDGE_IDLE_END", "15m"}, {"KEDGE_RUN_DEADLINE", "1.5h"}});
  EXPECT_EQ(config.keep_jobs_s, 7 * 24 * 3600);
  EXPECT_EQ(config.drain_s, 90);
  EXPECT_EQ(config.idle_end, 900);
  EXPECT_EQ(config.run_deadline_s, 5400);
  for (const char* bad : {"", "-1", "0.5s", "100ms", "2d", "10 s", "soon"}) EXPECT_EQ(error_of({"--drain", bad}).where, "--drain") << bad;
  EXPECT_EQ(error_of({"--drain", "2d"}).message, "--drain is '2d', must be a time of at most 1d in whole seconds, such as 90s, 15m, 8h or 30d");
}

TEST(Config, TakesThePriceOfTheMachine) {
  EXPECT_EQ(load({}).price_per_hour, 0);
  EXPECT_EQ(load({}, {{"KEDGE_PRICE_PER_HOUR", "0.81"}}).price_per_hour, 0.81);
  for (const char* bad : {"", "-1", "nan", "inf", "1e9", "1 USD"})
    EXPECT_EQ(error_of({"--price-per-hour", bad}).where, "--price-per-hour") << bad;
  EXPECT_EQ(error_of({"--price-per-hour", "-1"}).message,
            "--price-per-hour is '-1', must be a number from 0 to 100000");
}

TEST(Config, TakesListsByCommaAndByRepetition) {
  EXPECT_EQ(load({"--devices", "cpu,cuda:0"}).devices, (std::vector<std::string>{"cpu", "cuda:0"}));
  EXPECT_EQ(load({"--allow-fetch", "a", "--allow-fetch", "10.0.0.0/8"}).allow_fetch,
            (std::vector<std::string>{"a", "10.0.0.0/8"}));
  EXPECT_EQ(load({}, {{"KEDGE_DEVICES", "cpu"}}).devices, std::vector<std::string>{"cpu"});
}

TEST(Config, ReadsListenAddresses) {
  const Config six = load({"--listen", "[::1]:0"});
  EXPECT_EQ(six.listen_host, "::1");
  EXPECT_EQ(six.listen_port, 0);
  EXPECT_EQ(load({"--listen", "localhost:1"}).listen_host, "127.0.0.1");
}

TEST(Config, RefusesBadListenAddresses) {
  for (const char* text : {"5334", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "host:1",
                           "::1:5334", "[127.0.0.1]:1", "1.2.3:4"}) {
    const Error error = error_of({"--listen", text});
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue) << text;
    EXPECT_EQ(error.where, "--listen") << text;
  }
}

TEST(Config, KnowsWhichAddressesAreLoopback) {
  for (const char* inside : {"127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(is_loopback(inside)) << inside;
  for (const char* outside : {"0.0.0.0", "::", "10.0.0.1", "192.0.2.127"}) EXPECT_FALSE(is_loopback(outside)) << outside;
}

TEST(Config, TakesCertificateAndKeyTogether) {
  EXPECT_EQ(load({"--tls-cert", "c.pem", "--tls-key", "k.pem"}).tls_key, "k.pem");
  EXPECT_EQ(error_of({"--tls-cert", "c.pem"}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error_of({"--tls-key", "k.pem"}).code, ErrorCode::kInvalidValue);
}

TEST(Config, DoesNotRepeatWhatMightBeASecret) {
  const Error error = error_of({"--token-sha256", "kdg_a_token_by_mistake"});
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.message.find("mistake"), std::string::npos) << error.message;
  EXPECT_EQ(load({"--token-sha256", std::string(64, 'a')}).token_sha256, std::string(64, 'a'));
}

TEST(Config, RefusesUnknownKeysAndNamesThem) {
  const std::string file = toml_file("data_dri = '/d'\n");
  const Error key = error_of({"--config", file});
  EXPECT_EQ(key.code, ErrorCode::kUnknownField);
  EXPECT_NE(key.message.find("data-dri"), std::string::npos) << key.message;
  EXPECT_NE(key.message.find("did you mean 'data-dir'"), std::string::npos) << key.message;
  const Error flag = error_of({"--thread", "2"});
  EXPECT_EQ(flag.code, ErrorCode::kUnknownField);
  EXPECT_NE(flag.message.find("did you mean 'threads'"), std::string::npos) << flag.message;
}

TEST(Config, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(error_of({"--threads", "many"}).where, "--threads");
  EXPECT_EQ(error_of({}, {{"KEDGE_THREADS", "-1"}}).where, "KEDGE_THREADS");
  EXPECT_EQ(error_of({"--log-level", "loud"}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error_of({"--config", toml_file("threads = 1.5\n")}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({"--config", toml_file("threads = [1]\n")}).code, ErrorCode::kWrongType);
  EXPECT_EQ(error_of({"--config", toml_file("threads = \n")}).code, ErrorCode::kMalformed);
  EXPECT_EQ(error_of({"--config", "/nowhere.toml"}).code, ErrorCode::kMalformed);
}

TEST(Config, PrintsHelpAndVersion) {
  EXPECT_NE(load({"--help"}).print.find("--openml-url"), std::string::npos);
  EXPECT_NE(load({"--version"}).print.find(version()), std::string::npos);
}

}  // namespace
}  // namespace kedge::server
