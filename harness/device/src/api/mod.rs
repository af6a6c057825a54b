//! The traits that both devices implement, and the types of their methods.

mod build;
mod digest;
mod driver;
mod error;
mod finding;
mod parameters;
mod telemetry;
mod tensor_map;

pub use build::*;
pub use digest::*;
pub use driver::*;
pub use error::*;
pub use finding::*;
pub use parameters::*;
pub use telemetry::*;
pub use tensor_map::*;
