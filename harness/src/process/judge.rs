//! The judge: `lab harness`.
