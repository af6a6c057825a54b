// Runs the launch statement when an entry is first launched with these dimensions on this device, and launches.
void lab_run(const std::string& entry, const std::vector<int>& dims, const std::vector<LabBuffer>& tensors,
             const std::vector<std::string>& scalars, const std::function<void*(size_t)>& scratch, void* stream) {
    using namespace lab_export;
    static std::mutex mutex;
    static std::map<std::tuple<int, std::string, std::vector<int>>, Plan> plans;
    int device = 0;
    check(cudaGetDevice(&device), "cannot use a device");
    const Plan* plan = nullptr;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto key = std::make_tuple(device, entry, dims);
        auto found = plans.find(key);
        if (found == plans.end()) found = plans.emplace(key, make_plan(entry, dims)).first;
        plan = &found->second;
    }
    std::vector<Buffer> buffers;
    for (const LabBuffer& tensor : tensors) 
        buffers.push_back({tensor.name, Type(tensor.type), tensor.data, tensor.shape, tensor.strides});
    std::vector<void*> arguments;
    for (Buffer& buffer : buffers) arguments.push_back(&buffer.data);
    for (const std::string& scalar : scalars) arguments.push_back(const_cast<char*>(scalar.data()));
    for (const int& dim : dims) arguments.push_back(const_cast<int*>(&dim));
    void* const memory = plan->scratch_bytes ? scratch(plan->scratch_bytes) : nullptr;
    run(*plan, buffers, arguments, memory, static_cast<cudaStream_t>(stream));
}
