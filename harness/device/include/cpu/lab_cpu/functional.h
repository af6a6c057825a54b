// The operators of cuda/functional and cuda/std/functional. Without a type they take any.
#pragma once

namespace cuda {
namespace std {

#define LAB_CPU_OPERATOR(name, expression)                                                                             \
    template <class T = void>                                                                                          \
    struct name {                                                                                                      \
        constexpr auto operator()(const T& a, const T& b) const { return expression; }                                 \
    };                                                                                                                 \
    template <>                                                                                                        \
    struct name<void> {                                                                                                \
        template <class A, class B>                                                                                    \
        constexpr auto operator()(const A& a, const B& b) const {                                                      \
            return expression;                                                                                         \
        }                                                                                                              \
    };
LAB_CPU_OPERATOR(plus, a + b)
LAB_CPU_OPERATOR(minus, a - b)
LAB_CPU_OPERATOR(multiplies, a* b)
LAB_CPU_OPERATOR(divides, a / b)
LAB_CPU_OPERATOR(modulus, a % b)
LAB_CPU_OPERATOR(bit_and, a& b)
LAB_CPU_OPERATOR(bit_or, a | b)
LAB_CPU_OPERATOR(bit_xor, a ^ b)
LAB_CPU_OPERATOR(logical_and, a&& b)
LAB_CPU_OPERATOR(logical_or, a || b)
LAB_CPU_OPERATOR(equal_to, a == b)
LAB_CPU_OPERATOR(not_equal_to, a != b)
LAB_CPU_OPERATOR(less, a < b)
LAB_CPU_OPERATOR(greater, a > b)
LAB_CPU_OPERATOR(less_equal, a <= b)
LAB_CPU_OPERATOR(greater_equal, a >= b)

}  // namespace std

LAB_CPU_OPERATOR(maximum, a < b ? b : a)
LAB_CPU_OPERATOR(minimum, b < a ? b : a)
#undef LAB_CPU_OPERATOR

}  // namespace cuda
