// NVRTC has memcpy and memset built in.
#pragma once
