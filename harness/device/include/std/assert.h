// NVRTC has assert built in.
#pragma once
