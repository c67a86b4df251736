// The simulated EC2.
#include "tests/unit/provisioning/fake_ec2.h"

#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <sstream>

#include "provisioning/errors.h"
#include "provisioning/providers/sigv4.h"

namespace kedge::provisioning {
namespace {

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%')
      out += text[i];
    else
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)), i += 2;
  }
  return out;
}

std::map<std::string, std::string> form(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream stream(text);
  for (std::string field; std::getline(stream, field, '&');) {
    const std::size_t equals = field.find('=');
    fields[field.substr(0, equals)] = decoded(field.substr(equals + 1));
  }
  return fields;
}

http::Response ok(const std::string& name, const std::string& inside) {
  return {.status = 200,
          .body = fmt::format("<?xml version=\"1.0\"?><{0} xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">{1}</{0}>", name,
                              inside)};
}

http::Response error(long status, const std::string& code) {
  return {
      .status = status,
      .body = fmt::format(
          "<Response><Errors><Error><Code>{}</Code><Message>as it &lt;happens&gt;</Message></Error></Errors></Response>", code)};
}

std::string header(const http::Request& request, const std::string& name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return {};
}

std::string http_date(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace

http::Response FakeEc2::send(const http::Request& request) {
  step();
  const std::size_t query = request.url.find('?');
  const auto fields = form(query == std::string::npos ? request.body : request.url.substr(query + 1));
  const auto found = fields.find("Action");
  const std::string action = found == fields.end() ? "" : found->second;
  clock_.sleep(std::chrono::milliseconds(50));
  if (std::abs(clock_error_s) > 900 && header(request, "X-Amz-Date") != amz_date(clock_.unix_seconds() + clock_error_s)) {
    http::Response refusal = error(400, "RequestExpired");
    refusal.headers.emplace_back("date", http_date(clock_.unix_seconds() + clock_error_s));
    return refusal;
  }
  const bool changes =
      !action.empty() && !action.starts_with("Describe") && !action.starts_with("Get");  // JSON calls look prices up
  changing_calls += changes;
  if (chance(faults.throttle)) return error(503, "RequestLimitExceeded");
  if (chance(faults.server_error / 2)) return error(500, "InternalError");
  http::Response response = answer(action, fields);
  step();
  if (chance(faults.server_error / 2)) return error(500, "InternalError");
  if (chance(faults.lost_reply)) {
    clock_.sleep(std::chrono::seconds(60));
    throw ProviderError(Failure::kRetryLater, "fake", "timeout", 0, true);
  }
  return response;
}

http::Response FakeEc2::answer(const std::string& action, const Fields& fields) {
  if (action == "RunInstances") return run(fields);
  if (action == "DescribeInstances") return list(fields);
  if (action == "TerminateInstances") return terminate(fields);
  if (action == "DescribeInstanceTypeOfferings") {
    std::string items;
    for (const char* zone : {"us-east-1a", "us-east-1b", "us-east-1c"})
      items += fmt::format("<item><instanceType>g6.xlarge</instanceType><location>{}</location></item>", zone);
    return ok("R", "<instanceTypeOfferingSet>" + items + "</instanceTypeOfferingSet>");
  }
  if (action == "DescribeSpotPriceHistory")
    return ok("R",
              "<spotPriceHistorySet><item><instanceType>g6.xlarge</instanceType><spotPrice>0.31</spotPrice>"
              "<availabilityZone>us-east-1b</availabilityZone></item></spotPriceHistorySet>");
  if (action == "DescribeSecurityGroups")
    return ok("R", "<securityGroupInfo><item><groupId>sg-1</groupId></item></securityGroupInfo>");
  if (action == "DescribeVolumes") return ok("R", "<volumeSet/>");
  if (action == "GetConsoleOutput") return ok("R", "<output>aGVsbG8=</output>");
  return error(400, "InvalidAction");
}

http::Response FakeEc2::run(const Fields& fields) {
  if (chance(faults.no_capacity)) return error(500, "InsufficientInstanceCapacity");
  if (chance(faults.partial)) return ok("RunInstancesResponse", "<instancesSet/>");
  const std::string& token = fields.at("ClientToken");
  if (honours_token)
    for (const FakeInstance& instance : instances)
      if (instance.token == token) return ok("RunInstancesResponse", "<instancesSet>" + shown(instance) + "</instancesSet>");
  const std::int64_t now = clock_.unix_seconds();
  FakeInstance made{
      .id = fmt::format("i-{:08x}", instances.size() + 1), .token = token, .zone = fields.at("Placement.AvailabilityZone")};
  made.owner = fields.at("TagSpecification.1.Tag.2.Value");
  made.created = now;
  made.visible = now + draw(faults.lag_s);
  if (chance(faults.lie)) made.lies = 1 + static_cast<int>(draw(3));
  instances.push_back(made);
  return ok("RunInstancesResponse", "<instancesSet>" + shown(made) + "</instancesSet>");
}

std::string FakeEc2::shown(const FakeInstance& instance) {
  const std::int64_t now = clock_.unix_seconds();
  const bool up = now > instance.created + 10 && !(now < instance.created + 20 && now % 2 == 1);  // states come in a wrong order
  const std::string state = instance.ends != 0 ? (exists(instance) ? "shutting-down" : "terminated") : up ? "running" : "pending";
  return fmt::format(
      "<item><instanceId>{}</instanceId><instanceState><name>{}</name></instanceState>{}<tagSet><item><key>Name</key>"
      "<value>{}</value></item></tagSet></item>",
      instance.id, state, up ? "<ipAddress>192.0.2.1</ipAddress>" : "", instance.token);
}

http::Response FakeEc2::list(const Fields& fields) {
  std::string items;
  for (const FakeInstance& instance : instances) {
    if (clock_.unix_seconds() < instance.visible) continue;
    const auto id = fields.find("InstanceId.1");
    if (id != fields.end() ? id->second == instance.id : fields.at("Filter.1.Value.1") == instance.owner)
      items += shown(instance);
  }
  if (items.empty() && fields.contains("InstanceId.1")) return error(400, "InvalidInstanceID.NotFound");
  return ok("DescribeInstancesResponse",
            "<reservationSet><item><instancesSet>" + items + "</instancesSet></item></reservationSet>");
}

http::Response FakeEc2::terminate(const Fields& fields) {
  for (FakeInstance& instance : instances) {
    if (instance.id != fields.at("InstanceId.1")) continue;
    if (clock_.unix_seconds() < instance.visible) return error(400, "InvalidInstanceID.NotFound");
    if (instance.lies > 0)
      --instance.lies;
    else if (instance.ends == 0)
      instance.ends = clock_.unix_seconds() + 5 + draw(20);
    return ok("TerminateInstancesResponse", "<instancesSet/>");
  }
  return error(400, "InvalidInstanceID.NotFound");
}

}  // namespace kedge::provisioning
