// What NVRTC knows without any header: a few functions of the C library, and what the language itself needs. No header of
// the host is included, so device code sees no name that a GPU's compiler lacks.
//
// A .cpp is host code. It includes the host's own headers, which then declare all of this (LAB_CPU_HOST).
#pragma once

#ifdef LAB_CPU_HOST

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

#else

#define NULL 0
using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
using clock_t = long;

extern "C" {
void* malloc(size_t bytes);
void free(void* memory);
void* memcpy(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);
int printf(const char* format, ...);
}

inline void* operator new(size_t, void* place) noexcept { return place; }
inline void* operator new[](size_t, void* place) noexcept { return place; }

namespace std {
// The compiler makes one of a list in braces, and sets its two fields.
template <class T>
class initializer_list {
    const T* first = nullptr;
#ifdef __clang__
    const T* behind = nullptr;
    constexpr initializer_list(const T* first, const T* behind) : first(first), behind(behind) {}

  public:
    constexpr size_t size() const noexcept { return size_t(behind - first); }
    constexpr const T* end() const noexcept { return behind; }
#else
    size_t count = 0;
    constexpr initializer_list(const T* first, size_t count) : first(first), count(count) {}

  public:
    constexpr size_t size() const noexcept { return count; }
    constexpr const T* end() const noexcept { return first + count; }
#endif
    constexpr initializer_list() noexcept = default;
    constexpr const T* begin() const noexcept { return first; }
};

template <class T>
struct lab_cpu_referred {
    using type = T;
};
template <class T>
struct lab_cpu_referred<T&> {
    using type = T;
};
template <class T>
struct lab_cpu_referred<T&&> {
    using type = T;
};
template <class T>
constexpr typename lab_cpu_referred<T>::type&& move(T&& value) noexcept {
    return static_cast<typename lab_cpu_referred<T>::type&&>(value);
}
template <class T>
constexpr T&& forward(typename lab_cpu_referred<T>::type& value) noexcept {
    return static_cast<T&&>(value);
}
template <class T>
constexpr T&& forward(typename lab_cpu_referred<T>::type&& value) noexcept {
    return static_cast<T&&>(value);
}
}  // namespace std

#endif

// Functions of the C library that the device's headers call, under names that a kernel does not use.
extern "C" {
int lab_cpu_clock_gettime(int clock, long* seconds_and_nanoseconds) noexcept __asm__("clock_gettime");
int lab_cpu_fflush(void* stream) __asm__("fflush");
}

// Traits of types, for the device's headers: a kernel gets <type_traits> only if it includes it.
template <class T>
inline constexpr bool lab_cpu_is_floating = false;
template <>
inline constexpr bool lab_cpu_is_floating<float> = true;
template <>
inline constexpr bool lab_cpu_is_floating<double> = true;

template <class T>
inline constexpr bool lab_cpu_is_integral = false;
#define LAB_CPU_INTEGRAL(T) \
    template <>             \
    inline constexpr bool lab_cpu_is_integral<T> = true;
LAB_CPU_INTEGRAL(bool)
LAB_CPU_INTEGRAL(char)
LAB_CPU_INTEGRAL(signed char)
LAB_CPU_INTEGRAL(unsigned char)
LAB_CPU_INTEGRAL(short)
LAB_CPU_INTEGRAL(unsigned short)
LAB_CPU_INTEGRAL(int)
LAB_CPU_INTEGRAL(unsigned)
LAB_CPU_INTEGRAL(long)
LAB_CPU_INTEGRAL(unsigned long)
LAB_CPU_INTEGRAL(long long)
LAB_CPU_INTEGRAL(unsigned long long)
#undef LAB_CPU_INTEGRAL

template <class T>
inline constexpr bool lab_cpu_is_arithmetic = lab_cpu_is_integral<T> || lab_cpu_is_floating<T>;

// The first type, if the condition holds. Without a second type it is otherwise no type at all.
template <bool condition, class Then, class... Else>
struct lab_cpu_choose {};
template <class Then, class... Else>
struct lab_cpu_choose<true, Then, Else...> {
    using type = Then;
};
template <class Then, class Else>
struct lab_cpu_choose<false, Then, Else> {
    using type = Else;
};
template <bool condition, class Then, class... Else>
using lab_cpu_if = typename lab_cpu_choose<condition, Then, Else...>::type;

template <class T>
struct lab_cpu_without_const {
    using type = T;
};
template <class T>
struct lab_cpu_without_const<const T> {
    using type = T;
};

// The unsigned word of a size of 1, 2, 4 or 8 bytes.
template <size_t bytes>
using lab_cpu_word = lab_cpu_if<bytes == 8, unsigned long long,
                                lab_cpu_if<bytes == 4, unsigned, lab_cpu_if<bytes == 2, unsigned short, unsigned char>>>;

// The numbers from 0 to count - 1 as arguments of a template.
template <size_t... i>
struct lab_cpu_indices {};
#ifdef __clang__
template <class T, T... i>
using lab_cpu_indices_of = lab_cpu_indices<i...>;
template <size_t count>
using lab_cpu_first_indices = __make_integer_seq<lab_cpu_indices_of, size_t, count>;
#else
template <size_t count>
using lab_cpu_first_indices = lab_cpu_indices<__integer_pack(count)...>;
#endif
