//! Whether this process may read the counters of a GPU. The driver decides; Linux shows on what it
//! decides. A tiny kernel under ncu is the proof: [`super::proofs`].

use std::path::Path;

/// Bits of CapEff.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

/// Whether the driver lets this process read counters, as far as Linux shows it; `None` if it does
/// not.
pub fn is_allowed() -> Option<bool> {
    look_in(Path::new("/proc"))
}

/// [`is_allowed`] in another folder than /proc.
fn look_in(proc: &Path) -> Option<bool> {
    let read = |name: &str| std::fs::read_to_string(proc.join(name)).unwrap_or_default();
    let (params, status) = (read("driver/nvidia/params"), read("self/status"));
    let value = |text: &str, key: &str| {
        let mut values = text
            .lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim));
        values.next().map(str::to_owned)
    };
    let capabilities = value(&status, "CapEff")
        .and_then(|hex| u64::from_str_radix(&hex, 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| capabilities & (1 << bit) != 0;
    let admin_only = value(&params, "RmProfilingAdminOnly")?;
    Some(admin_only == "0" || has(CAP_SYS_ADMIN) || has(CAP_PERFMON))
}

/// Why counters are refused, and what to do.
pub fn refused() -> String {
    "the NVIDIA driver refuses this user the GPU's counters (ERR_NVGPUCTRPERM). On the machine itself an administrator writes \
     'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia-profiling.conf and loads the driver anew; a \
     container needs --cap-add=SYS_ADMIN or --cap-add=PERFMON, and a rented machine may allow neither"
        .into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_driver_and_the_capabilities_decide() {
        let admin = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
        let free = admin.replace(": 1", ": 0");
        let [none, all, perfmon] = ["0000000000000000", "000001fffeffffff", "0000004000000000"];
        for (params, capabilities, expected) in [
            (Some(admin), none, Some(false)),
            (Some(admin), all, Some(true)),
            (Some(admin), perfmon, Some(true)),
            (Some(free.as_str()), none, Some(true)),
            (None, none, None),
        ] {
            let proc = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(proc.path().join("driver/nvidia")).unwrap();
            std::fs::create_dir(proc.path().join("self")).unwrap();
            if let Some(params) = params {
                std::fs::write(proc.path().join("driver/nvidia/params"), params).unwrap();
            }
            std::fs::write(
                proc.path().join("self/status"),
                format!("Name:\tlab\nCapEff:\t{capabilities}\n"),
            )
            .unwrap();
            assert_eq!(look_in(proc.path()), expected, "{params:?} {capabilities}");
        }
    }
}
