//! The environment of the processes that compile and run a kernel. A kernel can print what it finds
//! there, so a variable that nobody names does not reach it.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The variable that names further variables, with commas between them.
pub const NAMES: &str = "LAB_ENVIRONMENT";

/// What programs, compilers, drivers and Python packages look for.
const KEPT: [&str; 26] = [
    "CONDA_PREFIX",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CXX",
    "GLIBC_TUNABLES",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "RUST_BACKTRACE",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// What their names begin with.
const KEPT_PREFIXES: [&str; 13] = [
    "CUDA_",
    "LAB_",
    "LC_",
    "LLVM_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTHON",
    "PYTORCH_",
    "TORCH",
    "TRITON_",
];

/// Takes every other variable of this process away from a program that it starts. What the command
/// itself sets stays.
pub fn restrict(command: &mut Command) {
    let named = std::env::var(NAMES).unwrap_or_default();
    let set: Vec<OsString> = command
        .get_envs()
        .map(|(name, _)| name.to_owned())
        .collect();
    for (name, _) in std::env::vars_os() {
        if !is_kept(&name, &named) && !set.contains(&name) {
            command.env_remove(name);
        }
    }
}

/// Whether a variable reaches the kernel. `named` are further names, with commas between them.
fn is_kept(name: &OsStr, named: &str) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    KEPT.contains(&name)
        || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || named.split(',').any(|known| known.trim() == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_secret_is_taken_away_unless_it_is_named() {
        for kept in [
            "PATH",
            "LC_ALL",
            "CUDA_VISIBLE_DEVICES",
            "TRITON_CACHE_DIR",
            "LAB_CPU_SMS",
        ] {
            assert!(is_kept(OsStr::new(kept), ""), "{kept}");
        }
        for taken in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "HF_TOKEN",
            "",
            "path",
        ] {
            assert!(!is_kept(OsStr::new(taken), "HF_HOME, WANDB"), "{taken}");
        }
        assert!(is_kept(OsStr::new("HF_HOME"), "WANDB, HF_HOME"));
    }

    #[test]
    fn what_the_command_sets_itself_stays() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "printf %s \"$CARGO_PKG_NAME:$OWN_VALUE\""]);
        command.env("OWN_VALUE", "4");
        restrict(&mut command);
        // Cargo sets CARGO_PKG_NAME for every test.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        assert_eq!(command.output().unwrap().stdout, b":4");
    }
}
