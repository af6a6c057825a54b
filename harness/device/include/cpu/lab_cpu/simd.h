// Words as vectors: functions on the two 16-bit or four 8-bit parts of a word, and the DPX functions of a maximum or minimum of
// sums. CUDA's manual of math functions defines them.
#pragma once

template <int count, bool is_signed>
struct lab_cpu_parts;
template <>
struct lab_cpu_parts<2, true> {
    using Part = short;
};
template <>
struct lab_cpu_parts<2, false> {
    using Part = unsigned short;
};
template <>
struct lab_cpu_parts<4, true> {
    using Part = signed char;
};
template <>
struct lab_cpu_parts<4, false> {
    using Part = unsigned char;
};

// Computes each part from the parts of both words. A part is given as an int; of the result the low bits count.
template <int count, bool is_signed, class Op>
inline unsigned lab_cpu_each(unsigned a, unsigned b, Op op) {
    using Part = typename lab_cpu_parts<count, is_signed>::Part;
    constexpr int bits = 32 / count;
    constexpr unsigned mask = (1u << bits) - 1;
    unsigned result = 0;
    for (int at = 0; at < 32; at += bits) {
        const int part = op(int(static_cast<Part>(a >> at)), int(static_cast<Part>(b >> at)));
        result |= (unsigned(part) & mask) << at;
    }
    return result;
}
// The nearest number that a part can hold.
template <int count, bool is_signed>
inline int lab_cpu_held(int x) {
    constexpr int bits = 32 / count;
    constexpr int low = is_signed ? -(1 << (bits - 1)) : 0, high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    return x < low ? low : x > high ? high : x;
}
template <int count, bool is_signed>
inline unsigned lab_cpu_sum_of_differences(unsigned a, unsigned b) {
    unsigned sum = 0;
    lab_cpu_each<count, is_signed>(a, b, [&](int x, int y) {
        sum += unsigned(x < y ? y - x : x - y);
        return 0;
    });
    return sum;
}

#define LAB_CPU_OF_TWO(name, count, is_signed, expression)                                                      \
    inline unsigned name(unsigned a, unsigned b) {                                                              \
        return lab_cpu_each<count, is_signed>(a, b, [](int x, int y) { return int(expression); });              \
    }
#define LAB_CPU_OF_ONE(name, count, is_signed, expression)                                                      \
    inline unsigned name(unsigned a) {                                                                          \
        return lab_cpu_each<count, is_signed>(a, 0, [](int x, int) { return int(expression); });                \
    }
// A comparison as a mask (`__vcmp…`) and as 0 or 1 (`__vset…`).
#define LAB_CPU_COMPARED(name, count, is_signed, op)                        \
    LAB_CPU_OF_TWO(__vcmp##name##count, count, is_signed, x op y ? -1 : 0)  \
    LAB_CPU_OF_TWO(__vset##name##count, count, is_signed, x op y ? 1 : 0)
#define LAB_CPU_WORDS(count)                                                                                    \
    LAB_CPU_OF_TWO(__vadd##count, count, true, x + y)                                                           \
    LAB_CPU_OF_TWO(__vaddss##count, count, true, (lab_cpu_held<count, true>(x + y)))                            \
    LAB_CPU_OF_TWO(__vaddus##count, count, false, (lab_cpu_held<count, false>(x + y)))                          \
    LAB_CPU_OF_TWO(__vsub##count, count, true, x - y)                                                           \
    LAB_CPU_OF_TWO(__vsubss##count, count, true, (lab_cpu_held<count, true>(x - y)))                            \
    LAB_CPU_OF_TWO(__vsubus##count, count, false, (lab_cpu_held<count, false>(x - y)))                          \
    LAB_CPU_OF_TWO(__vmaxs##count, count, true, x < y ? y : x)                                                  \
    LAB_CPU_OF_TWO(__vmaxu##count, count, false, x < y ? y : x)                                                 \
    LAB_CPU_OF_TWO(__vmins##count, count, true, x < y ? x : y)                                                  \
    LAB_CPU_OF_TWO(__vminu##count, count, false, x < y ? x : y)                                                 \
    LAB_CPU_OF_TWO(__vavgs##count, count, true, (x + y + (x + y >= 0)) >> 1)                                    \
    LAB_CPU_OF_TWO(__vavgu##count, count, false, (x + y + 1) >> 1)                                              \
    LAB_CPU_OF_TWO(__vhaddu##count, count, false, (x + y) >> 1)                                                 \
    LAB_CPU_OF_TWO(__vabsdiffs##count, count, true, x < y ? y - x : x - y)                                      \
    LAB_CPU_OF_TWO(__vabsdiffu##count, count, false, x < y ? y - x : x - y)                                     \
    LAB_CPU_OF_ONE(__vabs##count, count, true, x < 0 ? -x : x)                                                  \
    LAB_CPU_OF_ONE(__vabsss##count, count, true, (lab_cpu_held<count, true>(x < 0 ? -x : x)))                   \
    LAB_CPU_OF_ONE(__vneg##count, count, true, -x)                                                              \
    LAB_CPU_OF_ONE(__vnegss##count, count, true, (lab_cpu_held<count, true>(-x)))                               \
    LAB_CPU_COMPARED(eq, count, false, ==)                                                                      \
    LAB_CPU_COMPARED(ne, count, false, !=)                                                                      \
    LAB_CPU_COMPARED(gts, count, true, >)                                                                       \
    LAB_CPU_COMPARED(ges, count, true, >=)                                                                      \
    LAB_CPU_COMPARED(lts, count, true, <)                                                                       \
    LAB_CPU_COMPARED(les, count, true, <=)                                                                      \
    LAB_CPU_COMPARED(gtu, count, false, >)                                                                      \
    LAB_CPU_COMPARED(geu, count, false, >=)                                                                     \
    LAB_CPU_COMPARED(ltu, count, false, <)                                                                      \
    LAB_CPU_COMPARED(leu, count, false, <=)                                                                     \
    inline unsigned __vsads##count(unsigned a, unsigned b) { return lab_cpu_sum_of_differences<count, true>(a, b); } \
    inline unsigned __vsadu##count(unsigned a, unsigned b) { return lab_cpu_sum_of_differences<count, false>(a, b); }
LAB_CPU_WORDS(2)
LAB_CPU_WORDS(4)
#undef LAB_CPU_WORDS
#undef LAB_CPU_COMPARED
#undef LAB_CPU_OF_ONE

// DPX. `end` is max or min, `op` the comparison by which the second of two replaces the first. A sum of 32 bits wraps around.
#define LAB_CPU_DPX(end, op)                                                                                    \
    inline int __vi##end##_s32_relu(int a, int b) {                                                             \
        const int c = b op a ? b : a;                                                                           \
        return c < 0 ? 0 : c;                                                                                   \
    }                                                                                                           \
    inline int __vi##end##3_s32(int a, int b, int c) {                                                          \
        const int d = b op a ? b : a;                                                                           \
        return c op d ? c : d;                                                                                  \
    }                                                                                                           \
    inline unsigned __vi##end##3_u32(unsigned a, unsigned b, unsigned c) {                                      \
        const unsigned d = b op a ? b : a;                                                                      \
        return c op d ? c : d;                                                                                  \
    }                                                                                                           \
    inline int __vi##end##3_s32_relu(int a, int b, int c) {                                                     \
        const int d = __vi##end##3_s32(a, b, c);                                                                \
        return d < 0 ? 0 : d;                                                                                   \
    }                                                                                                           \
    inline int __viadd##end##_s32(int a, int b, int c) {                                                        \
        const int sum = int(unsigned(a) + unsigned(b));                                                         \
        return c op sum ? c : sum;                                                                              \
    }                                                                                                           \
    inline unsigned __viadd##end##_u32(unsigned a, unsigned b, unsigned c) { return c op (a + b) ? c : a + b; } \
    inline int __viadd##end##_s32_relu(int a, int b, int c) {                                                   \
        const int d = __viadd##end##_s32(a, b, c);                                                              \
        return d < 0 ? 0 : d;                                                                                   \
    }                                                                                                           \
    inline int __vib##end##_s32(int a, int b, bool* first) {                                                    \
        *first = !(b op a);                                                                                     \
        return *first ? a : b;                                                                                  \
    }                                                                                                           \
    inline unsigned __vib##end##_u32(unsigned a, unsigned b, bool* first) {                                     \
        *first = !(b op a);                                                                                     \
        return *first ? a : b;                                                                                  \
    }                                                                                                           \
    LAB_CPU_OF_TWO(lab_cpu_##end##_s16x2, 2, true, y op x ? y : x)                                              \
    LAB_CPU_OF_TWO(lab_cpu_##end##_u16x2, 2, false, y op x ? y : x)                                             \
    inline unsigned __vib##end##_s16x2(unsigned a, unsigned b, bool* first_high, bool* first_low) {             \
        const unsigned c = lab_cpu_##end##_s16x2(a, b);                                                         \
        *first_high = c >> 16 == a >> 16, *first_low = (c & 0xffff) == (a & 0xffff);                            \
        return c;                                                                                               \
    }                                                                                                           \
    inline unsigned __vib##end##_u16x2(unsigned a, unsigned b, bool* first_high, bool* first_low) {             \
        const unsigned c = lab_cpu_##end##_u16x2(a, b);                                                         \
        *first_high = c >> 16 == a >> 16, *first_low = (c & 0xffff) == (a & 0xffff);                            \
        return c;                                                                                               \
    }                                                                                                           \
    inline unsigned __vi##end##_s16x2_relu(unsigned a, unsigned b) {                                            \
        return __vmaxs2(lab_cpu_##end##_s16x2(a, b), 0);                                                        \
    }                                                                                                           \
    inline unsigned __vi##end##3_s16x2(unsigned a, unsigned b, unsigned c) {                                    \
        return lab_cpu_##end##_s16x2(lab_cpu_##end##_s16x2(a, b), c);                                           \
    }                                                                                                           \
    inline unsigned __vi##end##3_u16x2(unsigned a, unsigned b, unsigned c) {                                    \
        return lab_cpu_##end##_u16x2(lab_cpu_##end##_u16x2(a, b), c);                                           \
    }                                                                                                           \
    inline unsigned __vi##end##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                               \
        return __vmaxs2(__vi##end##3_s16x2(a, b, c), 0);                                                        \
    }                                                                                                           \
    inline unsigned __viadd##end##_s16x2(unsigned a, unsigned b, unsigned c) {                                  \
        return lab_cpu_##end##_s16x2(__vadd2(a, b), c);                                                         \
    }                                                                                                           \
    inline unsigned __viadd##end##_u16x2(unsigned a, unsigned b, unsigned c) {                                  \
        return lab_cpu_##end##_u16x2(__vadd2(a, b), c);                                                         \
    }                                                                                                           \
    inline unsigned __viadd##end##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                             \
        return __vmaxs2(__viadd##end##_s16x2(a, b, c), 0);                                                      \
    }
LAB_CPU_DPX(max, >)
LAB_CPU_DPX(min, <)
#undef LAB_CPU_DPX
#undef LAB_CPU_OF_TWO
