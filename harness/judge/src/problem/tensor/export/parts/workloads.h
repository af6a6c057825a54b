// The workloads, their cells and their inputs.
namespace lab_export {
namespace {

enum Role { IN, OUT, INOUT };

struct Tensor {
    const char* name;
    Role role;
    bool compared;
};

// What an input holds. Its values are drawn by this program: they are not the values that lab drew.
struct Values {
    enum Kind { NONE, NORMAL, UNIFORM, INTEGERS, ASCENDING, PERMUTATION, NUMBER, WHOLE, BYTES, PACKED } kind;
    double a, b;        // mean and standard deviation; low and high; the number
    long long low, high;  // both ends included; the whole number; of a U64 the same bits
    const char* bytes;  // the cells themselves
};

// A view of a tensor: the kernel gets it in place of the tensor. Offset and strides count cells.
struct View {
    const char* name;
    unsigned long long offset;
    std::vector<unsigned long long> shape, strides;
};

// A cell is right if |got - want| <= atol + rtol * |want|; the fraction `matched` of the cells must be right.
struct TensorOfCase {
    Type type;
    std::vector<unsigned long long> shape;
    double atol, rtol, matched;
    Values values;
    std::vector<View> views;
    std::vector<TensorOfCase> fields;  // of packed values: the cells of a type in the rows of bytes
    unsigned long long offset;         // of a field: the bytes of a row before it
};

struct Case {
    const char* label;
    const char* entry;
    bool timed;
    std::vector<int> dims;
    std::vector<std::string> scalars;  // the bytes of each
    std::vector<TensorOfCase> tensors;
};

template <class Number>
inline std::string scalar(Number number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

inline size_t cells_of(const TensorOfCase& tensor) {
    size_t cells = 1;
    for (unsigned long long extent : tensor.shape) cells *= extent;
    return cells;
}

// ---- Cells ----

// A float of 8 or 16 bits: the bits of its exponent and of its mantissa.
struct Format {
    int exponent, mantissa;
    bool has_infinity;
};

inline Format format_of(Type type) {
    switch (type) {
        case F16: return {5, 10, true};
        case BF16: return {8, 7, true};
        case F8E4M3: return {4, 3, false};
        default: return {5, 2, true};
    }
}

inline double decode(Format format, unsigned bits) {
    const int bias = (1 << (format.exponent - 1)) - 1, top = (1 << format.exponent) - 1;
    const int exponent = int(bits >> format.mantissa) & top;
    const unsigned one = 1u << format.mantissa, fraction = bits & (one - 1);
    const double sign = bits >> (format.exponent + format.mantissa) & 1 ? -1.0 : 1.0;
    if (exponent == top && format.has_infinity) return fraction ? NAN : sign * INFINITY;
    if (exponent == top && fraction == one - 1) return NAN;
    if (exponent == 0) return sign * std::ldexp(double(fraction), 1 - bias - format.mantissa);
    return sign * std::ldexp(double(one + fraction), exponent - bias - format.mantissa);
}

// The nearest float; a finite number beyond the largest one gives the largest one.
inline unsigned encode(Format format, double value) {
    const int bias = (1 << (format.exponent - 1)) - 1, top = (1 << format.exponent) - 1;
    const unsigned one = 1u << format.mantissa;
    const unsigned largest = format.has_infinity ? (unsigned(top) << format.mantissa) - 1
                                                 : (unsigned(top) << format.mantissa) + one - 2;
    const unsigned sign = std::signbit(value) ? 1u << (format.exponent + format.mantissa) : 0;
    value = std::fabs(value);
    if (value == 0) return sign;
    if (value != value) return unsigned(top) << format.mantissa | (one - 1);
    if (std::isinf(value) && format.has_infinity) return sign | unsigned(top) << format.mantissa;
    if (value >= decode(format, largest)) return sign | largest;
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    const double steps = std::nearbyint(std::ldexp(value, format.mantissa - exponent));
    const unsigned bits = unsigned((exponent + bias) << format.mantissa) + unsigned(steps) - one;
    return sign | std::min(bits, largest);
}

template <class Number>
inline Number cell(const unsigned char* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return number;
}

template <class Number>
inline void put(unsigned char* to, Number number) {
    std::memcpy(to, &number, sizeof number);
}

inline bool is_float(Type type) { return type <= F8E5M2; }

inline double float_cell(Type type, const unsigned char* at) {
    if (type == F64) return cell<double>(at);
    if (type == F32) return cell<float>(at);
    return decode(format_of(type), bytes_of(type) == 2 ? cell<unsigned short>(at) : *at);
}

// Of a U64 the number with the same bits.
inline long long integer_cell(Type type, const unsigned char* at) {
    switch (type) {
        case I8: return cell<signed char>(at);
        case I16: return cell<short>(at);
        case U16: return cell<unsigned short>(at);
        case I32: return cell<int>(at);
        case U32: return cell<unsigned>(at);
        case I64: case U64: return cell<long long>(at);
        default: return *at;
    }
}

inline bool is_less(Type type, long long a, long long b) {
    return type == U64 ? static_cast<unsigned long long>(a) < static_cast<unsigned long long>(b) : a < b;
}

inline void put_float(Type type, unsigned char* to, double value) {
    if (type == F64) return put(to, value);
    if (type == F32) return put(to, float(value));
    const unsigned bits = encode(format_of(type), value);
    if (bytes_of(type) == 2) return put(to, static_cast<unsigned short>(bits));
    *to = static_cast<unsigned char>(bits);
}

inline void put_integer(Type type, unsigned char* to, long long value) {
    if (is_float(type)) return put_float(type, to, double(value));
    std::memcpy(to, &value, bytes_of(type));  // in little endian
}

// ---- Inputs ----

// Random words: word i of a stream is SplitMix64 (Steele, Lea, Flood 2014) at the state seed + i.
struct Random {
    unsigned long long state;

    unsigned long long word() {
        unsigned long long z = state += 0x9E3779B97F4A7C15ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        return z ^ z >> 31;
    }
    // From 0 to 1, without both ends.
    double unit() { return (double(word() >> 12) + 0.5) / 4503599627370496.0; }
    // Both ends included.
    long long between(long long low, long long high) {
        const unsigned long long span = static_cast<unsigned long long>(high) - static_cast<unsigned long long>(low) + 1;
        const unsigned long long drawn = span ? word() % span : word();
        return static_cast<long long>(static_cast<unsigned long long>(low) + drawn);
    }
    // Normally distributed (Box and Muller 1958).
    double normal() {
        const double length = std::sqrt(-2 * std::log(unit()));
        return length * std::cos(6.283185307179586 * unit());
    }
};

inline std::vector<unsigned char> draw(const TensorOfCase& tensor, unsigned long long seed) {
    const size_t size = bytes_of(tensor.type), cells = cells_of(tensor), row = tensor.shape.back();
    std::vector<unsigned char> all(cells * size);
    const Values& values = tensor.values;
    Random random = {seed};
    if (values.kind == Values::BYTES) {
        std::memcpy(all.data(), values.bytes, all.size());
        return all;
    }
    if (values.kind == Values::PACKED) {
        for (const TensorOfCase& field : tensor.fields) {
            const std::vector<unsigned char> part = draw(field, random.word());
            const size_t width = field.shape.back() * bytes_of(field.type);
            for (size_t i = 0; i < part.size(); i += width)
                std::memcpy(&all[i / width * row + field.offset], &part[i], width);
        }
        return all;
    }
    std::vector<long long> numbers(row);
    for (size_t i = 0; i < cells; ++i) {
        unsigned char* to = &all[i * size];
        if (i % row == 0 && values.kind == Values::ASCENDING) {
            for (long long& number : numbers) number = random.between(values.low, values.high);
            std::sort(numbers.begin(), numbers.end(), [&](long long a, long long b) { return is_less(tensor.type, a, b); });
            numbers.back() = values.high;
            numbers.front() = values.low;
        }
        if (i % row == 0 && values.kind == Values::PERMUTATION) {
            for (size_t j = 0; j < row; ++j) numbers[j] = static_cast<long long>(j);
            for (size_t last = row - 1; last > 0; --last) std::swap(numbers[last], numbers[random.word() % (last + 1)]);
        }
        switch (values.kind) {
            case Values::NORMAL: put_float(tensor.type, to, values.a + values.b * random.normal()); break;
            case Values::UNIFORM: put_float(tensor.type, to, values.a + (values.b - values.a) * random.unit()); break;
            case Values::INTEGERS: put_integer(tensor.type, to, random.between(values.low, values.high)); break;
            case Values::ASCENDING:
            case Values::PERMUTATION: put_integer(tensor.type, to, numbers[i % row]); break;
            case Values::NUMBER: put_float(tensor.type, to, values.a); break;
            case Values::WHOLE: put_integer(tensor.type, to, values.low); break;
            default: break;
        }
    }
    return all;
}

}  // namespace
}  // namespace lab_export
