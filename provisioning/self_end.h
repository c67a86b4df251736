// The end of the machine that this program runs on, requested by the machine itself.
#pragma once

namespace kedge::provisioning {

// With the key that RunPod or Vast.ai has put into this container's environment and that is good for this machine alone; returns at once
// where there is none. Repeats until the provider has agreed.
void end_this_machine();

}  // namespace kedge::provisioning
