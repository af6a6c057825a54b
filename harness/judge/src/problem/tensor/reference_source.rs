//! Which file of a problem's folder is its reference, and where that computes.

use crate::outcome::Stop;
use lab_device::DeviceInfo;
use lab_protocol::Language;
use std::path::{Path, PathBuf};

/// The language of the reference in a problem's folder. CUDA if it is unclear which file is the
/// reference.
pub fn language(folder: &Path) -> Language {
    source(folder).map_or(Language::Cuda, |(_, language)| language)
}

/// Whether the reference computes on the host for a device that is none: one in Python that imports
/// NumPy, and nothing that computes on a device.
pub fn is_on_host(folder: &Path) -> bool {
    const ON_DEVICE: [&str; 4] = ["torch", "triton", "cupy", "jax"];
    let Ok((path, Language::Python)) = source(folder) else {
        return false;
    };
    let imports = lab_source::imports::imports(&std::fs::read(path).unwrap_or_default());
    let is_imported = |package: &str| {
        let mut first = imports.iter().filter_map(|import| import.module.first());
        first.any(|module| module == package)
    };
    is_imported("numpy") && !ON_DEVICE.into_iter().any(is_imported)
}

/// The reference for a device: on the cpu device reference.cpp, if there is one, in place of
/// reference.cu.
pub fn source_for(folder: &Path, device: &DeviceInfo) -> Result<(PathBuf, Language), Stop> {
    let native = folder.join("reference.cpp");
    if device.emulated && native.is_file() {
        Ok((native, Language::Cuda))
    } else {
        source(folder)
    }
}

/// The reference in a problem's folder. Returns [`Stop::Problem`] if there is none, or one in each
/// language: it would be unclear which of them judges.
fn source(folder: &Path) -> Result<(PathBuf, Language), Stop> {
    let path = |language: Language| folder.join(language.reference_name());
    let [cuda, python] = [Language::Cuda, Language::Python].map(path);
    match (cuda.is_file(), python.is_file()) {
        (true, false) => Ok((cuda, Language::Cuda)),
        (false, true) => Ok((python, Language::Python)),
        (true, true) => Err(Stop::Problem(format!(
            "{} and reference.py are both there: remove one of them, because a problem has one reference",
            cuda.display()
        ))),
        (false, false) => Err(Stop::Problem(format!(
            "{} is missing, and so is reference.py: write one of them, a plain and correct kernel with the entries of problem.toml",
            cuda.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    #[test]
    fn a_reference_that_computes_with_numpy_alone_is_on_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let is_on_host = |source: &str| {
            std::fs::write(folder.path().join("reference.py"), source).unwrap();
            super::is_on_host(folder.path())
        };
        assert!(is_on_host(
            "import numpy as np\ndef f(y, x): y[:] = np.exp(x)"
        ));
        assert!(is_on_host("from numpy import exp"));
        for on_device in [
            "import torch",
            "import torch.nn.functional as F",
            "from cupy import exp",
            "",
        ] {
            assert!(
                !is_on_host(&format!("import math\n{on_device}")),
                "{on_device}"
            );
            let both = format!("import numpy as np\n{on_device}");
            assert_eq!(is_on_host(&both), on_device.is_empty(), "{on_device}");
        }
        std::fs::write(folder.path().join("reference.cu"), "").unwrap();
        assert!(!super::is_on_host(folder.path()), "there are two");
    }
}
