// NVRTC has malloc and free built in.
#pragma once
