// Verifies and times each workload. Arguments: a seed for the inputs. Exits with 0 if every workload is right, otherwise with 1.
int main(int count, char** arguments) {
    using namespace lab_export;
    try {
        const unsigned long long seed = count > 1 ? std::strtoull(arguments[1], nullptr, 0) : 1;
        cudaDeviceProp device;
        check(cudaGetDeviceProperties(&device, 0), "there is no CUDA device");
        std::printf("%s on %s, inputs of the seed %llu\n", problem_name, device.name, seed);
        size_t wrong = 0;
        for (size_t i = 0; i < cases.size(); ++i) {
            const Case& each = cases[i];
            Workload workload(tensors, each, seed + 1000 * i);
            const Plan kernel = workload.plan(""), reference = workload.plan(reference_prefix);
            double error = 0;
            std::string why = workload.verify(kernel, reference, 1, error);
            if (why.empty() && steps > 1) why = workload.verify(kernel, reference, steps, error);
            if (!why.empty()) {
                ++wrong;
                std::printf("WRONG  %s: %s\n", each.label, why.c_str());
            } else if (each.timed) {
                std::printf("ok     %s  %.3f us  error %.3g of 1\n", each.label, workload.microseconds(kernel, is_cold, is_graph),
                            error);
            } else {
                std::printf("ok     %s  not timed  error %.3g of 1\n", each.label, error);
            }
            std::fflush(stdout);
        }
        if (wrong) std::printf("%zu of %zu workloads are wrong\n", wrong, cases.size());
        else std::printf("all %zu workloads are right\n", cases.size());
        return wrong ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", problem_name, error.what());
        return 1;
    }
}
