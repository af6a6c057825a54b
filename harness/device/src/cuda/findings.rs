//! Checks CUDA on this machine for `lab doctor`.

use super::nvrtc::Nvrtc;
use super::toolkit::Toolkit;
use super::{devices, toolkits};
use crate::api::{Finding, FolderTrust};
use itertools::Itertools as _;

/// The remedy where NVRTC is missing.
const INSTALL_NVRTC: &str = "Install the CUDA toolkit, and set CUDA_HOME if it is not in a usual folder, \
     or install its wheels into the project's .venv: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime \
     nvidia-cuda-cccl nvidia-cuda-crt";

/// The remedy where NVRTC is missing in a folder.
pub fn install_nvrtc(folder: FolderTrust) -> String {
    match toolkits(FolderTrust::Trusted)
        .first()
        .filter(|_| folder == FolderTrust::Untrusted)
    {
        Some(toolkit) => format!(
            "{} has one, and loading it runs code of this folder, which is not trusted: look at it, then `lab trust` lets the \
             lab load it. Or activate the environment, which sets VIRTUAL_ENV.",
            toolkit.found_by
        ),
        None => INSTALL_NVRTC.to_owned(),
    }
}

/// What this machine has for CUDA, and what is missing, for `lab doctor`: the driver, its devices,
/// NVML, NVRTC and the headers.
pub fn findings(folder: FolderTrust) -> Vec<Finding> {
    let driver_version = devices::version();
    let mut findings = vec![match &driver_version {
        Ok((major, minor)) => {
            let says = format!("supports CUDA {major}.{minor}");
            Finding::good("NVIDIA driver", says.clone()).public(says)
        }
        Err(error) => Finding::bad("NVIDIA driver", error.to_string(), None),
    }];
    if driver_version.is_ok() {
        findings.push(devices());
        findings.push(super::nvml::finding());
    }
    match toolkits(folder).first() {
        Some(toolkit) => {
            findings.push(nvrtc(toolkit, driver_version.ok()));
            findings.push(headers(toolkit));
        }
        None => findings.push(
            Finding::bad("NVRTC", "not found", Some(&install_nvrtc(folder))).public("not found"),
        ),
    }
    findings
}

fn devices() -> Finding {
    match devices::devices() {
        Ok(names) if names.is_empty() => Finding::bad(
            "CUDA devices",
            "none",
            Some("Check `nvidia-smi` and CUDA_VISIBLE_DEVICES."),
        )
        .public("none"),
        Ok(names) => {
            let list = |shown: fn(&String) -> &str| {
                let names = names.iter().map(shown).enumerate();
                names.map(|(n, name)| format!("cuda:{n} {name}")).join(", ")
            };
            Finding::good("CUDA devices", list(|name| name)).public(list(|name| product(name)))
        }
        Err(error) => Finding::bad("CUDA devices", error.to_string(), None),
    }
}

/// The name of a GPU if it is one as NVIDIA gives them.
fn product(name: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -.".contains(c);
    let begins = ["NVIDIA ", "Tesla ", "Quadro ", "GeForce "];
    if begins.iter().any(|maker| name.starts_with(maker)) && name.chars().all(is_plain) {
        name
    } else {
        "a GPU"
    }
}

fn nvrtc(toolkit: &Toolkit, driver_version: Option<(u32, u32)>) -> Finding {
    let location = format!(
        "{} (found by {})",
        toolkit.library.display(),
        toolkit.found_by
    );
    match Nvrtc::load(toolkit).and_then(|nvrtc| nvrtc.try_out().map(|()| nvrtc)) {
        Err(error) => Finding::bad("NVRTC", error.to_string(), None),
        Ok(nvrtc) => {
            let (major, minor) = nvrtc.version;
            let says = format!("{major}.{minor}, {location}");
            match driver_version {
                Some((driver_major, driver_minor)) if major > driver_major => Finding::bad(
                    "NVRTC",
                    format!("{says}; the driver supports CUDA {driver_major}.{driver_minor} only"),
                    Some("Update the NVIDIA driver, or set CUDA_HOME to an older toolkit."),
                ),
                _ => Finding::good("NVRTC", says),
            }
            .public(format!("{major}.{minor}"))
        }
    }
}

fn headers(toolkit: &Toolkit) -> Finding {
    let missing = ["cooperative_groups.h", "cuda_fp16.h", "nv/target"]
        .into_iter()
        .filter(|header| !toolkit.has_header(header))
        .collect_vec();
    if missing.is_empty() {
        let folders = toolkit
            .includes
            .iter()
            .map(|f| f.display().to_string())
            .join(", ");
        return Finding::good("CUDA headers", folders).public("found");
    }
    let wheels = if toolkit.major >= 13 { "" } else { "-cu12" };
    let remedy = format!(
        "Install the toolkit's headers, for example as wheels: pip install nvidia-cuda-runtime{wheels} \
         nvidia-cuda-cccl{wheels}"
    );
    Finding::bad(
        "CUDA headers",
        format!("{} not found", missing.join(", ")),
        Some(&remedy),
    )
    .public(format!("{} not found", missing.join(", ")))
}
