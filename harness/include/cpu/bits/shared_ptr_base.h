// The header of this name in GCC's library uses the attribute __noinline__, which is a keyword of CUDA here.
#pragma once
#pragma GCC system_header
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
