// What the binding hands to the code that launches.
struct LabBuffer {
    std::string name;
    int type;
    void* data;
    std::vector<unsigned long long> shape, strides;
};

void lab_run(const std::string& entry, const std::vector<int>& dims, const std::vector<LabBuffer>& tensors,
             const std::vector<std::string>& scalars, const std::function<void*(size_t)>& scratch, void* stream);
