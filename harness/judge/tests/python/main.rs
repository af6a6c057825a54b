//! Python kernels, each judged by the whole judge on the cpu device, and the tests of the Python package.
fn main() {}
