// The functions that device code calls where a GPU does otherwise than this processor: at a load or a store at an address that is no
// multiple of its size, which ends a launch on a GPU; and at an implicit conversion of a number that the type cannot hold, which a GPU
// brings to the nearest one (`rewrite/casts.rs` does the same for a cast); and at a shift by all bits or more. They are entry points of UndefinedBehaviorSanitizer, but
// libubsan is not linked. The compilers define the names and the parameters (GCC: gcc/ubsan.cc).
#pragma once

struct lab_cpu_place {
    const char* file;
    unsigned line, column;
};
struct lab_cpu_type {
    unsigned short kind;  // 0: an integer, 1: a floating type
    unsigned short info;  // of an integer: twice the logarithm of its bits, and 1 if it has a sign
    char name[1];
};
struct lab_cpu_misaligned {
    lab_cpu_place place;
    const lab_cpu_type* type;
    unsigned char log_alignment, access;
};
struct lab_cpu_conversion {
    lab_cpu_place place;
    const lab_cpu_type *from, *to;
};
struct lab_cpu_shift {
    lab_cpu_place place;
    const lab_cpu_type *shifted, *by;
};
// A sentence in parts.
class lab_cpu_sentence {
    char text[240];
    unsigned length = 0;

  public:
    lab_cpu_sentence& add(const char* part) {
        while (*part && length + 1 < sizeof text) text[length++] = *part++;
        text[length] = 0;
        return *this;
    }
    lab_cpu_sentence& add(unsigned number) {
        char digits[12] = {};
        unsigned at = sizeof digits - 1;
        do digits[--at] = char('0' + number % 10);
        while (number /= 10);
        return add(digits + at);
    }
    [[noreturn]] void fail(lab_cpu_place at) const {
        // Without a thread this runs in an initialiser, which ends the process.
        if (!lab_cpu_self) __builtin_trap();
        lab_cpu_runtime->fail(lab_cpu_self, text, at.file, at.line);
    }
};

extern "C" {
[[noreturn]] __attribute__((used, cold, noinline, visibility("hidden"))) inline void __ubsan_handle_type_mismatch_v1_abort(lab_cpu_misaligned* found, void* address) {
    const unsigned needed = 1u << found->log_alignment, off = unsigned(reinterpret_cast<size_t>(address) % needed);
    lab_cpu_sentence()
        .add("misaligned address: ")
        .add(found->type->name)
        .add(" needs a multiple of ")
        .add(needed)
        .add(" bytes, and the address is ")
        .add(off)
        .add(" bytes behind one")
        .fail(found->place);
}
[[noreturn]] __attribute__((used, cold, noinline, visibility("hidden"))) inline void __ubsan_handle_float_cast_overflow_abort(lab_cpu_conversion* found, void*) {
    lab_cpu_sentence()
        .add("an implicit conversion of ")
        .add(found->from->name)
        .add(" to ")
        .add(found->to->name)
        .add(", which cannot hold the number: a GPU takes the nearest one, the emulated device at a cast alone (write the cast)")
        .fail(found->place);
}
[[noreturn]] __attribute__((used, cold, noinline, visibility("hidden"))) inline void __ubsan_handle_shift_out_of_bounds_abort(lab_cpu_shift* found, void*, void* by) {
    lab_cpu_sentence()
        .add("a shift of ")
        .add(found->shifted->name)
        .add(" by ")
        .add(unsigned(reinterpret_cast<size_t>(by)))
        .add(" bits, which C++ does not define: a GPU shifts all bits out, the emulated device does not")
        .fail(found->place);
}
}
