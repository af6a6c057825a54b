// NVRTC has printf built in.
#pragma once
