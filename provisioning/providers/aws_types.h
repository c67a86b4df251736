// The EC2 instance types that we rent, with what DescribeInstanceTypes would tell in a storm of calls.
#pragma once

#include <span>

namespace kedge::provisioning {

struct AwsType {
  const char* name;
  const char* gpu;  // canonical; empty: none
  int gpus, cpus;
  double memory_gb;
  double list_price;  // USD an hour, Linux, on demand, us-east-1
};

std::span<const AwsType> aws_types();
// Where list_price is from; used when the price service does not answer.
constexpr const char* kAwsListSource = "list of us-east-1, November 2026";

}  // namespace kedge::provisioning
