// The comparison and the times.
namespace lab_export {
namespace {

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
        difference = double(is_less(tensor.type, b, a) ? x - y : y - x);
        expected = tensor.type == U64 ? double(y) : double(b);
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
    if (tensor.type == U64) return std::to_string(cell<unsigned long long>(at));
    if (!is_float(tensor.type)) return std::to_string(integer_cell(tensor.type, at));
    char text[40];
    std::snprintf(text, sizeof text, tensor.type == F64 ? "%.17g" : "%.9g", float_cell(tensor.type, at));
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
            std::vector<unsigned long long> strides(tensor.shape.size(), 1);
            for (size_t j = strides.size() - 1; j > 0; --j) strides[j - 1] = strides[j] * tensor.shape[j];
            buffers_.push_back({tensors_[i].name, tensor.type, data, tensor.shape, strides});
            if (tensor.views.empty()) given_.push_back(buffers_.back());
            for (const View& view : tensor.views) {
                unsigned char* const at = static_cast<unsigned char*>(data) + view.offset * bytes_of(tensor.type);
                given_.push_back({view.name, tensor.type, at, view.shape, view.strides});
            }
        }
        for (Buffer& buffer : given_) arguments_.push_back(&buffer.data);
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
        run(plan, given_, arguments_, plan.scratch_bytes ? scratch_ : nullptr, stream);
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
                if (!tensors_[i].compared) continue;
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
    std::vector<Buffer> given_;  // what the kernel gets: the tensors, or in their place their views
    std::vector<void*> arguments_;
    void* scratch_ = nullptr;
    size_t scratch_bytes_ = 0;
};

}  // namespace
}  // namespace lab_export
