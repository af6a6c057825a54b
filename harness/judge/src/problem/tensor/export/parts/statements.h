// Each launch statement registers itself, so that the program finds it by the name of its entry.
namespace lab_export {
namespace {

struct Statement {
    const char* entry;
    const void* kernel;  // writes a LabShape, or a LabLaunches
    bool is_list;
};

inline std::vector<Statement>& statements() {
    static std::vector<Statement> all;
    return all;
}

struct Registered {
    Registered(const char* entry, const void* kernel, bool is_list) { statements().push_back({entry, kernel, is_list}); }
};

}  // namespace
}  // namespace lab_export

// The names go through a second macro, so that `entry` may be a macro.
#define LAB_LAUNCH(entry) LAB_LAUNCH_(entry)
#define LAB_LAUNCH_(entry)                                                                                 \
    __device__ void lab_shape_##entry(const LabDims& dims, const LabDevice& device, LabShape& launch);     \
    extern "C" __global__ void lab_launch_##entry(LabDims dims, LabDevice device, LabShape* out) {         \
        out->lab_begin(__LINE__);                                                                          \
        lab_shape_##entry(dims, device, *out);                                                             \
    }                                                                                                      \
    static const lab_export::Registered lab_registered_##entry(#entry, (const void*)&lab_launch_##entry, false); \
    __device__ void lab_shape_##entry([[maybe_unused]] const LabDims& dims,                                \
                                      [[maybe_unused]] const LabDevice& device, LabShape& launch)

#define LAB_LAUNCHES(entry) LAB_LAUNCHES_(entry)
#define LAB_LAUNCHES_(entry)                                                                               \
    __device__ void lab_list_##entry(const LabDims& dims, const LabDevice& device, LabLaunches& launches); \
    extern "C" __global__ void lab_launches_##entry(LabDims dims, LabDevice device, LabLaunches* out) {    \
        out->scratch_bytes = 0;                                                                            \
        out->zeroed = out->count = out->unused = 0;                                                        \
        out->line = __LINE__;                                                                              \
        lab_list_##entry(dims, device, *out);                                                              \
    }                                                                                                      \
    static const lab_export::Registered lab_registered_##entry(#entry, (const void*)&lab_launches_##entry, true); \
    __device__ void lab_list_##entry([[maybe_unused]] const LabDims& dims,                                 \
                                     [[maybe_unused]] const LabDevice& device, LabLaunches& launches)
