namespace {

void check_rank(const at::Tensor& tensor, const char* name, int64_t rank, const char* shape) {
    TORCH_CHECK(tensor.dim() == rank, name, " has the shape ", tensor.sizes(), ": it must be ", shape);
}

void check_dim(int64_t extent, const char* name) {
    TORCH_CHECK(extent >= 1 && extent <= 2147483647, name, " is ", extent, ": it must be from 1 to 2147483647");
}

// An extent that an expression gives.
int64_t extent(double value, const char* name) {
    TORCH_CHECK(value >= 1 && value == std::floor(value), "an extent of ", name, " would be ", value,
                ": it must be a whole number from 1");
    return static_cast<int64_t>(value);
}

void check_tensor(const at::Tensor& tensor, const char* name, at::ScalarType type, const std::vector<int64_t>& shape,
                  c10::Device device) {
    TORCH_CHECK(tensor.device() == device, name, " is on ", tensor.device(), ": it must be on ", device);
    TORCH_CHECK(tensor.scalar_type() == type, name, " has the type ", tensor.scalar_type(), ": it must be ", type);
    TORCH_CHECK(tensor.sizes() == at::IntArrayRef(shape), name, " has the shape ", tensor.sizes(), ": it must be ",
                at::IntArrayRef(shape));
    TORCH_CHECK(tensor.is_contiguous(), name, " is not contiguous: pass ", name, ".contiguous()");
    TORCH_CHECK(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0, name,
                " does not begin at a multiple of 16 bytes: pass ", name, ".clone()");
}

LabBuffer buffer(const at::Tensor& tensor, const char* name, int type) {
    const auto numbers = [](at::IntArrayRef of) { return std::vector<unsigned long long>(of.begin(), of.end()); };
    return {name, type, tensor.data_ptr(), numbers(tensor.sizes()), numbers(tensor.strides())};
}

// A place of a slice: below zero it counts from the end.
int64_t place(double value, int64_t extent, const char* name) {
    const double from_start = value < 0 ? value + double(extent) : value;
    TORCH_CHECK(from_start >= 0 && from_start <= double(extent) && from_start == std::floor(from_start), "the view ", name,
                " names the place ", value, " of ", extent);
    return static_cast<int64_t>(from_start);
}

template <class Number>
std::string bytes(Number number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace
