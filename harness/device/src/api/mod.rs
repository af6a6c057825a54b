//! The traits that both devices implement, and the types of their methods.

mod build;
mod digest;
mod driver;
mod error;
mod finding;
mod parameters;
mod telemetry;
mod tensor_map;

pub use build::{BuildRequest, Builder, Built, FolderTrust, Image, Sanitizer, SharedFiles};
#[cfg(test)]
pub use digest::mix;
pub use digest::{MemoryRange, NOISE_WORDS, Noise, digest};
pub use driver::{
    Arg, BYTE_POISONS, COMPARE_CHUNK_BYTES, DeviceInfo, Driver, Entry, ExecutionOrder,
    FLOAT8_POISONS, Occupancy, POISON, POISONS, Shape, Step, Submission, difference, is_poison,
    volume,
};
pub use error::{DeviceError, with_causes};
pub use finding::Finding;
pub use parameters::{OTHER_PARAMETERS, check_parameters};
pub use telemetry::Telemetry;
pub use tensor_map::{MAP_BYTES, MAX_RANK, MapElement, TensorMap};
