// The macros that NVRTC 13 defines for --std=c++17 and sm_90, before any header. The include guards of its own headers are left
// out. Found by asking NVRTC for each macro of g++ and of CUDA's headers, by #ifdef.
//
// A source that is preprocessed with them is what a GPU's compiler sees of it.
#undef __STDC_UTF_16__
#undef __STDC_UTF_32__
#undef _GNU_SOURCE

#define NULL 0
#define assert assert
#define __constant__ __constant__
#define __device__ __device__
#define __shared__ __shared__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_RTC_BUILTIN_VECTOR_TYPES__ 1
#define __CUDACC_DEVICE_ATOMIC_BUILTINS__ 1
#define __CUDART_API_VERSION CUDART_VERSION
#define CUDART_VERSION 13000
#define __CUDA_API_VER_MAJOR__ 13
#define __CUDA_API_VER_MINOR__ 0
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FAMILY_SPECIFIC__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#define __CUDA_ARCH_SPECIFIC__ 900
#define __CUDA_MINIMUM_ARCH__ 900
#define __EDG__ 1
#define __EDG_SIZE_TYPE__ unsigned long
#define __EDG_VERSION__ 608
#define __EXCEPTIONS 1
#define __LP64__ 1
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
#define __PRAGMA_REDEFINE_EXTNAME 1
#define __STDCPP_DEFAULT_NEW_ALIGNMENT__ 16ul

#define __cpp_aggregate_bases 201603L
#define __cpp_aggregate_nsdmi 201304L
#define __cpp_alias_templates 200704L
#define __cpp_aligned_new 201606L
#define __cpp_attributes 200809L
#define __cpp_binary_literals 201304L
#define __cpp_capture_star_this 201603L
#define __cpp_constexpr 201603L
#define __cpp_decltype 200707L
#define __cpp_decltype_auto 201304L
#define __cpp_deduction_guides 201703L
#define __cpp_delegating_constructors 200604L
#define __cpp_digit_separators 201309L
#define __cpp_enumerator_attributes 201411L
#define __cpp_exceptions 199711L
#define __cpp_fold_expressions 201603L
#define __cpp_generic_lambdas 201304L
#define __cpp_guaranteed_copy_elision 201606L
#define __cpp_hex_float 201603L
#define __cpp_if_constexpr 201606L
#define __cpp_inheriting_constructors 201511L
#define __cpp_init_captures 201304L
#define __cpp_initializer_lists 200806L
#define __cpp_inline_variables 201606L
#define __cpp_lambdas 200907L
#define __cpp_namespace_attributes 201411L
#define __cpp_nested_namespace_definitions 201411L
#define __cpp_noexcept_function_type 201510L
#define __cpp_nontype_template_args 201411L
#define __cpp_nontype_template_parameter_auto 201606L
#define __cpp_nsdmi 200809L
#define __cpp_range_based_for 201603L
#define __cpp_raw_strings 200710L
#define __cpp_ref_qualifiers 200710L
#define __cpp_return_type_deduction 201304L
#define __cpp_rtti 199711L
#define __cpp_rvalue_references 200610L
#define __cpp_sized_deallocation 201309L
#define __cpp_static_assert 201411L
#define __cpp_structured_bindings 201606L
#define __cpp_template_template_args 201611L
#define __cpp_threadsafe_static_init 200806L
#define __cpp_unicode_characters 200704L
#define __cpp_unicode_literals 200710L
#define __cpp_user_defined_literals 200809L
#define __cpp_variable_templates 201304L
#define __cpp_variadic_templates 200704L
#define __cpp_variadic_using 201611L
