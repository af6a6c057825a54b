// The inputs, the comparison and the times.
namespace lab_export {
namespace {

enum Role { IN, OUT, INOUT };

struct Tensor {
    const char* name;
    Role role;
};

// What an input holds. Its values are drawn by this program: they are not the values that lab drew.
struct Values {
    enum Kind { NONE, NORMAL, UNIFORM, INTEGERS, ASCENDING, PERMUTATION, NUMBER, WHOLE, BYTES } kind;
    double a, b;        // mean and standard deviation; low and high; the number
    long long low, high;  // both ends included; the whole number
    const char* bytes;  // the cells themselves
};

// A cell is right if |got - want| <= atol + rtol * |want|; the fraction `matched` of the cells must be right.
struct TensorOfCase {
    Type type;
    std::vector<unsigned long long> shape;
    double atol, rtol, matched;
    Values values;
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

// The nearest float; beyond the largest one, the largest one.
inline unsigned encode(Format format, double value) {
    const int bias = (1 << (format.exponent - 1)) - 1, top = (1 << format.exponent) - 1;
    const unsigned one = 1u << format.mantissa;
    const unsigned largest = format.has_infinity ? (unsigned(top) << format.mantissa) - 1
                                                 : (unsigned(top) << format.mantissa) + one - 2;
    const unsigned sign = std::signbit(value) ? 1u << (format.exponent + format.mantissa) : 0;
    value = std::fabs(value);
    if (value == 0) return sign;
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
    if (type == F32) return cell<float>(at);
    return decode(format_of(type), bytes_of(type) == 2 ? cell<unsigned short>(at) : *at);
}

inline long long integer_cell(Type type, const unsigned char* at) {
    switch (type) {
        case I8: return cell<signed char>(at);
        case I32: return cell<int>(at);
        case I64: return cell<long long>(at);
        default: return *at;
    }
}

inline void put_float(Type type, unsigned char* to, double value) {
    if (type == F32) return put(to, float(value));
    const unsigned bits = encode(format_of(type), value);
    if (bytes_of(type) == 2) return put(to, static_cast<unsigned short>(bits));
    *to = static_cast<unsigned char>(bits);
}

inline void put_integer(Type type, unsigned char* to, long long value) {
    switch (type) {
        case I32: return put(to, int(value));
        case I64: return put(to, value);
        case I8: case U8: case BOOL: *to = static_cast<unsigned char>(value); return;
        default: return put_float(type, to, double(value));
    }
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
    std::vector<long long> numbers(row);
    for (size_t i = 0; i < cells; ++i) {
        unsigned char* to = &all[i * size];
        if (i % row == 0 && values.kind == Values::ASCENDING) {
            for (long long& number : numbers) number = random.between(values.low, values.high);
            std::sort(numbers.begin(), numbers.end());
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

// ---- Comparing ----

struct Comparison {
    size_t wrong = 0, not_finite = 0, first = 0, cells = 0;
    double error = 0;  // the largest, in units of the tolerance
    bool passes = true;
};

inline double error_of(const TensorOfCase& tensor, const unsigned char* got, const unsigned char* want) {
    double difference, expected;
    if (is_float(tensor.type)) {
        const double a = float_cell(tensor.type, got), b = float_cell(tensor.type, want);
        if (a == b || (a != a && b != b)) return 0;
        difference = std::fabs(a - b);
        expected = b;
    } else {
        const long long a = integer_cell(tensor.type, got), b = integer_cell(tensor.type, want);
        const unsigned long long x = static_cast<unsigned long long>(a), y = static_cast<unsigned long long>(b);
        difference = double(a > b ? x - y : y - x);
        expected = double(b);
    }
    if (difference == 0) return 0;
    const double error = difference / (tensor.atol + tensor.rtol * std::fabs(expected));
    return error == error ? error : INFINITY;
}

inline Comparison compare(const TensorOfCase& tensor, const std::vector<unsigned char>& got,
                          const std::vector<unsigned char>& want) {
    Comparison found;
    const size_t size = bytes_of(tensor.type);
    found.cells = cells_of(tensor);
    for (size_t i = 0; i < found.cells; ++i) {
        const double error = error_of(tensor, &got[i * size], &want[i * size]);
        found.error = std::max(found.error, error);
        if (!(error > 1)) continue;
        if (found.wrong++ == 0) found.first = i;
        found.not_finite += is_float(tensor.type) && !std::isfinite(float_cell(tensor.type, &got[i * size])) &&
                            std::isfinite(float_cell(tensor.type, &want[i * size]));
    }
    const double allowed = std::round((1 - tensor.matched) * 1e12) / 1e12;
    found.passes = found.not_finite == 0 && double(found.wrong) / double(found.cells) <= allowed;
    return found;
}

inline std::string place(const TensorOfCase& tensor, size_t flat) {
    std::string text;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
        text = std::to_string(flat % tensor.shape[i]) + (text.empty() ? "" : ", ") + text;
        flat /= tensor.shape[i];
    }
    return "[" + text + "]";
}

inline std::string shown(const TensorOfCase& tensor, const unsigned char* at) {
    if (!is_float(tensor.type)) return std::to_string(integer_cell(tensor.type, at));
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", float_cell(tensor.type, at));
    return text;
}

inline std::string describe(const Tensor& tensor, const TensorOfCase& of, const Comparison& found,
                            const std::vector<unsigned char>& got, const std::vector<unsigned char>& want) {
    const size_t at = found.first * bytes_of(of.type);
    char text[160];
    std::snprintf(text, sizeof text, " (%zu of %zu cells off, at worst %.4g times the tolerance)", found.wrong, found.cells,
                  found.error);
    return tensor.name + place(of, found.first) + " is " + shown(of, &got[at]) + ", expected " + shown(of, &want[at]) + text;
}

// ---- A workload on the device ----

class Workload {
public:
    Workload(const std::vector<Tensor>& tensors, const Case& of, unsigned long long seed) : tensors_(tensors), case_(of) {
        for (size_t i = 0; i < tensors_.size(); ++i) {
            const TensorOfCase& tensor = case_.tensors[i];
            Random streams = {seed + i};
            inputs_.push_back(tensors_[i].role == OUT ? std::vector<unsigned char>() : draw(tensor, streams.word()));
            void* data = nullptr;
            check(cudaMalloc(&data, std::max<size_t>(bytes(i), 1)), std::string("cannot allocate ") + tensors_[i].name);
            buffers_.push_back({tensors_[i].name, tensor.type, data, tensor.shape});
        }
        for (Buffer& buffer : buffers_) arguments_.push_back(&buffer.data);
        for (const std::string& scalar : case_.scalars) arguments_.push_back(const_cast<char*>(scalar.data()));
        for (const int& dim : case_.dims) arguments_.push_back(const_cast<int*>(&dim));
    }
    ~Workload() {
        for (Buffer& buffer : buffers_) cudaFree(buffer.data);
        cudaFree(scratch_);
    }
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    // Plans the launches of the kernel, or with a prefix those of the reference.
    Plan plan(const std::string& prefix) {
        Plan plan = make_plan(case_.entry, case_.dims, prefix);
        if (plan.scratch_bytes > scratch_bytes_) {
            cudaFree(scratch_);
            scratch_ = nullptr;
            check(cudaMalloc(&scratch_, plan.scratch_bytes), "cannot allocate the scratch buffer");
            scratch_bytes_ = plan.scratch_bytes;
        }
        return plan;
    }

    void launch(const Plan& plan, cudaStream_t stream) {
        run(plan, buffers_, arguments_, plan.scratch_bytes ? scratch_ : nullptr, stream);
    }

    // Uploads the inputs, launches so often in a row, and returns what the tensors hold then. Before each launch the outputs
    // and the scratch buffer are filled with the byte `poison`.
    std::vector<std::vector<unsigned char>> outputs(const Plan& plan, int launches, int poison) {
        for (size_t i = 0; i < tensors_.size(); ++i)
            if (tensors_[i].role != OUT)
                check(cudaMemcpy(buffers_[i].data, inputs_[i].data(), bytes(i), cudaMemcpyHostToDevice), "cannot upload");
        for (int i = 0; i < launches; ++i) {
            for (size_t j = 0; j < tensors_.size(); ++j)
                if (tensors_[j].role == OUT) check(cudaMemset(buffers_[j].data, poison, bytes(j)), "cannot fill an output");
            if (plan.scratch_bytes) check(cudaMemset(scratch_, poison, plan.scratch_bytes), "cannot fill the scratch buffer");
            launch(plan, nullptr);
        }
        check(cudaDeviceSynchronize(), std::string("the launch of ") + case_.entry + " failed");
        std::vector<std::vector<unsigned char>> all;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            all.emplace_back(bytes(i));
            check(cudaMemcpy(all[i].data(), buffers_[i].data, bytes(i), cudaMemcpyDeviceToHost), "cannot download");
        }
        return all;
    }

    // Launches the kernel twice, before which its outputs hold two different patterns, so that a cell which it never writes is
    // wrong at least once. Returns what is wrong, or nothing. `error` becomes the largest error in units of the tolerance.
    std::string verify(const Plan& kernel, const Plan& reference, int launches, double& error) {
        const auto want = outputs(reference, launches, 0);
        for (int poison : {0xff, 0x7f}) {
            const auto got = outputs(kernel, launches, poison);
            for (size_t i = 0; i < tensors_.size(); ++i) {
                const TensorOfCase& of = case_.tensors[i];
                if (tensors_[i].role == IN) {
                    if (got[i] != inputs_[i]) return std::string("the kernel changed its input ") + tensors_[i].name;
                    continue;
                }
                const Comparison found = compare(of, got[i], want[i]);
                error = std::max(error, found.error);
                if (!found.passes) return describe(tensors_[i], of, found, got[i], want[i]);
            }
        }
        return "";
    }

    // Microseconds of one launch: the median of several measurements with CUDA events. Warm: launches follow one another, in a
    // CUDA graph if `graph`. Cold: before each launch the L2 cache is filled with other data.
    double microseconds(const Plan& plan, bool cold, bool graph) {
        cudaStream_t stream;
        cudaEvent_t begin, end;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot create a stream");
        check(cudaEventCreate(&begin), "cannot create an event");
        check(cudaEventCreate(&end), "cannot create an event");
        const auto timed = [&](const auto& work) {
            check(cudaEventRecord(begin, stream), "cannot record an event");
            work();
            check(cudaEventRecord(end, stream), "cannot record an event");
            check(cudaStreamSynchronize(stream), "a timed launch failed");
            float milliseconds = 0;
            check(cudaEventElapsedTime(&milliseconds, begin, end), "cannot read the time");
            return double(milliseconds) * 1000;
        };
        const auto once = [&] { launch(plan, stream); };
        for (int i = 0; i < 3; ++i) timed(once);
        const double first = timed(once);
        std::vector<double> times;
        if (cold) {
            int device = 0, l2 = 0;
            check(cudaGetDevice(&device), "cannot use a device");
            check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "cannot read the device's attributes");
            void* flushed = nullptr;
            const size_t bytes = std::max<size_t>(2 * size_t(l2), size_t(1) << 20);
            check(cudaMalloc(&flushed, bytes), "cannot allocate memory to flush the L2 cache with");
            const int count = int(std::min(100.0, std::max(5.0, 1e6 / std::max(first, 1.0))));
            for (int i = 0; i < count; ++i) {
                check(cudaMemsetAsync(flushed, i, bytes, stream), "cannot flush the L2 cache");
                times.push_back(timed(once));
            }
            cudaFree(flushed);
        } else {
            const int in_a_row = int(std::min(20.0, std::max(1.0, 5000 / std::max(first, 1.0))));
            const auto row = [&] {
                for (int i = 0; i < in_a_row; ++i) once();
            };
            cudaGraph_t captured = nullptr;
            cudaGraphExec_t ready = nullptr;
            if (graph) {
                check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cannot capture a graph");
                row();
                check(cudaStreamEndCapture(stream, &captured), "cannot capture a graph");
                check(cudaGraphInstantiate(&ready, captured, 0), "cannot instantiate a graph");
            }
            const auto work = [&] {
                if (graph) check(cudaGraphLaunch(ready, stream), "cannot launch a graph");
                else row();
            };
            timed(work);
            const int count = int(std::min(50.0, std::max(3.0, 1e6 / std::max(first * in_a_row, 1.0))));
            for (int i = 0; i < count; ++i) times.push_back(timed(work) / in_a_row);
            if (graph) {
                cudaGraphExecDestroy(ready);
                cudaGraphDestroy(captured);
            }
        }
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
        cudaStreamDestroy(stream);
        std::sort(times.begin(), times.end());
        return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    }

private:
    size_t bytes(size_t i) const { return cells_of(case_.tensors[i]) * bytes_of(case_.tensors[i].type); }

    const std::vector<Tensor>& tensors_;
    const Case& case_;
    std::vector<std::vector<unsigned char>> inputs_;
    std::vector<Buffer> buffers_;
    std::vector<void*> arguments_;
    void* scratch_ = nullptr;
    size_t scratch_bytes_ = 0;
};

}  // namespace
}  // namespace lab_export
