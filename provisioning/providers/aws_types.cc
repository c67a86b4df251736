// EC2's instance types.
#include "provisioning/providers/aws_types.h"

namespace kedge::provisioning {
namespace {

constexpr AwsType kTypes[] = {
    {"t3.medium", "", 0, 2, 4, 0.0416},       {"c6i.large", "", 0, 2, 4, 0.085},
    {"c7i.xlarge", "", 0, 4, 8, 0.1785},      {"c7i.4xlarge", "", 0, 16, 32, 0.714},
    {"g4dn.xlarge", "T4", 1, 4, 16, 0.526},   {"g4dn.2xlarge", "T4", 1, 8, 32, 0.752},
    {"g5.xlarge", "A10G", 1, 4, 16, 1.006},   {"g5.2xlarge", "A10G", 1, 8, 32, 1.212},
    {"g6.xlarge", "L4", 1, 4, 16, 0.8048},    {"g6.2xlarge", "L4", 1, 8, 32, 0.9776},
    {"g6e.xlarge", "L40S", 1, 4, 32, 1.861},  {"g6e.2xlarge", "L40S", 1, 8, 64, 2.24208},
    {"p3.2xlarge", "V100", 1, 8, 61, 3.06},   {"p4d.24xlarge", "A100", 8, 96, 1152, 21.957642},
    {"p5.4xlarge", "H100", 1, 16, 256, 6.88}, {"p5.48xlarge", "H100", 8, 192, 2048, 55.04},
};

}  // namespace

std::span<const AwsType> aws_types() {
  return kTypes;
}

}  // namespace kedge::provisioning
