// How the kernel is launched: its launch statement runs once for each set of dimensions, as a kernel of one thread, and says
// which kernels to launch, with which grid, blocks, clusters, scratch and tensor maps.
namespace lab_export {
namespace {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess) throw Failure(what + ": " + cudaGetErrorString(error));
}

// A function of the driver, by its name, so that the program need not be linked with libcuda.
template <class Function>
inline Function driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    check(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result), name);
#else
    check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result), name);
#endif
    if (!found) throw Failure(std::string("this driver has no ") + name + ": install a newer one");
    return reinterpret_cast<Function>(found);
}

inline void check(CUresult error, const std::string& what) {
    if (error == CUDA_SUCCESS) return;
    static const auto name_of = driver<decltype(&cuGetErrorName)>("cuGetErrorName");
    const char* name = nullptr;
    name_of(error, &name);
    throw Failure(what + ": " + (name ? name : "unknown error"));
}

enum Type { F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I16, U16, I32, U32, I64, U64, BOOL };

inline unsigned bytes_of(Type type) {
    switch (type) {
        case F64: case I64: case U64: return 8;
        case F32: case I32: case U32: return 4;
        case F16: case BF16: case I16: case U16: return 2;
        default: return 1;
    }
}

// What a tensor map calls the cells of a tensor.
inline CUtensorMapDataType map_type(Type type) {
    switch (type) {
        case F64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
        case F32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
        case F16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        case BF16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        case I16: case U16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
        case I32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
        case U32: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
        case I64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
        case U64: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
        default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    }
}

// A tensor of the problem in device memory, or a view of one. `shape` begins with the outermost dimension, and `strides` count
// cells.
struct Buffer {
    std::string name;
    Type type;
    void* data;
    std::vector<unsigned long long> shape, strides;
};

struct PlannedLaunch {
    CUfunction function;
    LabShape shape;
    std::string name;
};

struct Plan {
    std::vector<PlannedLaunch> launches;
    bool is_list = false, zeroed = false;
    size_t scratch_bytes = 0;
};

// The kernel with this name, from the module of a kernel that is known.
inline CUfunction find_kernel(const void* known, const std::string& name, const std::string& prefix) {
    static const auto module_of = driver<decltype(&cuFuncGetModule)>("cuFuncGetModule");
    static const auto function_of = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
    cudaFunction_t function = nullptr;
    check(cudaGetFuncBySymbol(&function, known), "cannot find the launch statement on the device");
    CUmodule module = nullptr;
    check(module_of(&module, reinterpret_cast<CUfunction>(function)), "cannot find the module of the kernels");
    CUfunction found = nullptr;
    if (!prefix.empty() && function_of(&found, module, (prefix + name).c_str()) == CUDA_SUCCESS) return found;
    check(function_of(&found, module, name.c_str()), "the launch statement names the kernel '" + name + "'");
    return found;
}

inline std::string at_line(const LabShape& shape) { return " (line " + std::to_string(shape.line) + " of its source)"; }

// Runs the launch statement of `entry` on the device. `prefix` is what the names of its kernels begin with in this file.
inline Plan make_plan(const std::string& entry, const std::vector<int>& dims, const std::string& prefix = "") {
    const Statement* found = nullptr;
    for (const Statement& statement : statements())
        if (prefix + entry == statement.entry) found = &statement;
    if (!found) throw Failure("there is no LAB_LAUNCH(" + entry + ") and no LAB_LAUNCHES(" + entry + ")");

    int current = 0, sms = 0, shared = 0;
    check(cudaGetDevice(&current), "cannot use a device");
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, current), "cannot read the device's attributes");
    check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, current),
          "cannot read the device's attributes");
    LabDevice device = {unsigned(sms), unsigned(shared)};

    const size_t bytes = found->is_list ? sizeof(LabLaunches) : sizeof(LabShape);
    void* out = nullptr;
    check(cudaMalloc(&out, bytes), "cannot allocate the result of the launch statement");
    void* arguments[] = {const_cast<int*>(dims.data()), &device, &out};
    cudaError_t error = cudaLaunchKernel(found->kernel, dim3(1), dim3(1), arguments, 0, nullptr);
    const std::unique_ptr<LabLaunches> list(new LabLaunches);
    void* const to = found->is_list ? static_cast<void*>(list.get()) : static_cast<void*>(&list->launch[0]);
    if (error == cudaSuccess) error = cudaMemcpy(to, out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(out);
    check(error, "cannot run the launch statement of " + entry);

    Plan plan;
    plan.is_list = found->is_list;
    unsigned count = 1;
    if (found->is_list) {
        count = list->count;
        plan.scratch_bytes = list->scratch_bytes;
        plan.zeroed = list->zeroed != 0;
        if (count == 0 || count > LAB_MOST_LAUNCHES)
            throw Failure("the launch list of " + entry + " asks for " + std::to_string(count) + " launches: from 1 to " +
                          std::to_string(unsigned(LAB_MOST_LAUNCHES)));
    }
    static const auto set_attribute = driver<decltype(&cuFuncSetAttribute)>("cuFuncSetAttribute");
    for (unsigned i = 0; i < count; ++i) {
        PlannedLaunch launch;
        launch.shape = list->launch[i];
        launch.name = found->is_list ? launch.shape.entry : found->entry;
        launch.function = find_kernel(found->kernel, launch.name, found->is_list ? prefix : "");
        if (launch.shape.maps > LAB_MOST_MAPS || launch.shape.args > LAB_MOST_ARGS)
            throw Failure("a launch has at most " + std::to_string(unsigned(LAB_MOST_MAPS)) + " tensor maps and " +
                          std::to_string(unsigned(LAB_MOST_ARGS)) + " arguments of its own" + at_line(launch.shape));
        if (launch.shape.shared_bytes > 0)
            check(set_attribute(launch.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                int(launch.shape.shared_bytes)),
                  launch.name + " asks for " + std::to_string(launch.shape.shared_bytes) + " bytes of shared memory");
        const unsigned* cluster = launch.shape.cluster;
        if (cluster[0] * cluster[1] * cluster[2] > 8)
            check(set_attribute(launch.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                  launch.name + " asks for clusters of more than 8 blocks");
        plan.launches.push_back(launch);
    }
    return plan;
}

// The tensor map that a launch asks for. What it does not set follows from the tensor.
inline CUtensorMap encode_map(const LabMapRequest& asked, const std::vector<Buffer>& tensors, void* scratch) {
    static const auto encode = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    const std::string name = asked.tensor;
    const Buffer* tensor = nullptr;
    for (const Buffer& each : tensors)
        if (each.name == name) tensor = &each;
    if (!tensor && name != "scratch") throw Failure("the launch statement asks for a tensor map of " + name + ", which is none");
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    unsigned element = 1;
    if (tensor) {
        type = map_type(tensor->type);
        element = bytes_of(tensor->type);
    }
    if (asked.element) {
        element = asked.element;
        type = element == 8   ? CU_TENSOR_MAP_DATA_TYPE_UINT64
               : element == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
               : element == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                              : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    }
    const unsigned own = tensor ? unsigned(tensor->shape.size()) : 0;
    const unsigned rank = asked.rank ? asked.rank : own;
    if (rank < 1 || rank > 5) throw Failure("the tensor map of " + name + " has the rank " + std::to_string(rank));
    cuuint64_t extent[5], stride[5];
    for (unsigned i = 0; i < rank; ++i) extent[i] = asked.extent[i] ? asked.extent[i] : rank == own ? tensor->shape[own - 1 - i] : 0;
    stride[0] = element;
    for (unsigned i = 1; i < rank; ++i) {
        const unsigned long long row = rank == own ? tensor->shape[own - i] : extent[i - 1];
        const bool is_own = rank == own && (i == 1 || !asked.stride[i - 1]);
        const unsigned long long usual = is_own ? tensor->strides[own - 1 - i] * element : stride[i - 1] * row;
        stride[i] = asked.stride[i] ? asked.stride[i] : usual;
    }
    CUtensorMap map;
    check(encode(&map, type, rank, tensor ? tensor->data : scratch, extent, stride + 1, asked.box, asked.element_strides,
                 CUtensorMapInterleave(asked.interleave), CUtensorMapSwizzle(asked.swizzle),
                 CUtensorMapL2promotion(asked.l2_promotion),
                 asked.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cannot encode the tensor map of " + name + " (line " + std::to_string(asked.line) + " of its source)");
    return map;
}

// Launches everything that the plan asks for. `arguments` point to the problem's parameters: tensors, scalars, dimensions.
inline void run(const Plan& plan, const std::vector<Buffer>& tensors, const std::vector<void*>& arguments, void* scratch,
                cudaStream_t stream) {
    static const auto launch_kernel = driver<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx");
    if (plan.zeroed && plan.scratch_bytes)
        check(cudaMemsetAsync(scratch, 0, plan.scratch_bytes, stream), "cannot zero the scratch buffer");
    for (const PlannedLaunch& launch : plan.launches) {
        const LabShape& shape = launch.shape;
        std::vector<void*> all = arguments;
        if (plan.is_list) all.push_back(&scratch);
        for (unsigned i = 0; i < shape.args; ++i) all.push_back(const_cast<unsigned char*>(shape.arg_content[i]));
        alignas(64) CUtensorMap maps[LAB_MOST_MAPS];
        for (unsigned i = 0; i < shape.maps; ++i) {
            maps[i] = encode_map(shape.map[i], tensors, scratch);
            all.push_back(&maps[i]);
        }
        CUlaunchConfig config = {};
        config.gridDimX = shape.grid[0];
        config.gridDimY = shape.grid[1];
        config.gridDimZ = shape.grid[2];
        config.blockDimX = shape.block[0];
        config.blockDimY = shape.block[1];
        config.blockDimZ = shape.block[2];
        config.sharedMemBytes = shape.shared_bytes;
        config.hStream = stream;
        CUlaunchAttribute attributes[2] = {};
        config.attrs = attributes;
        if (shape.cooperative) {
            attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            attributes[config.numAttrs++].value.cooperative = 1;
        }
        if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1) {
            attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[config.numAttrs].value.clusterDim.x = shape.cluster[0];
            attributes[config.numAttrs].value.clusterDim.y = shape.cluster[1];
            attributes[config.numAttrs++].value.clusterDim.z = shape.cluster[2];
        }
        check(launch_kernel(&config, launch.function, all.data(), nullptr), "cannot launch " + launch.name + at_line(shape));
    }
}

}  // namespace
}  // namespace lab_export
