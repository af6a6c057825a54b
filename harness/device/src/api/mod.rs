//! The traits that both devices implement, and the types of their methods.

mod build;
mod driver;
mod error;
mod finding;
mod telemetry;

pub use build::{BuildRequest, Builder, Built, Image, SharedFiles};
pub use driver::{
    Arg, COMPARE_CHUNK_BYTES, DeviceInfo, Driver, Entry, ExecutionOrder, Occupancy, POISON, Shape, Step,
};
pub use error::DeviceError;
pub use finding::Finding;
pub use telemetry::Telemetry;
