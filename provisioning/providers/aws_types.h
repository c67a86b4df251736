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
// Used when the price service does not answer and KEDGE_AWS_PRICES says nothing. The GPU types and c7i agree with copies of the list that others
// publish, looked at in November 2026 (p4d and p5.48xlarge: with those made after their price was cut); t3 and c6i were found in none.
constexpr const char* kAwsListSource = "list of us-east-1, November 2026";

}  // namespace kedge::provisioning
