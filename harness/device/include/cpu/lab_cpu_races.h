// lab_cpu.h for a build that the race detector watches. The macro is gone behind it, so a kernel cannot tell.
#pragma once
#define LAB_CPU_RACES 1
#include "lab_cpu.h"
