//! What a device can do at most, by its maker's data sheet: the roofs of a roofline.

/// Rates of a device.
pub struct Peaks {
    /// 10⁹ bytes of DRAM in a second.
    pub dram: f64,
    /// 10⁹ operations in a second without sparsity, and the types of the operands.
    pub arithmetic: &'static [(f64, &'static [&'static str])],
}

/// Data sheets name the rate of Tensor Cores with sparsity, which no kernel with dense operands
/// reaches: it is halved here. f32 is without Tensor Cores.
const HOPPER: &[(f64, &[&str])] = &[
    (67e3, &["f32", "f64"]),
    (989.5e3, &["bf16", "f16"]),
    (1_979e3, &["f8e4m3", "f8e5m2", "i8", "u8"]),
];
const AMPERE: &[(f64, &[&str])] = &[
    (19.5e3, &["f32", "f64"]),
    (312e3, &["bf16", "f16"]),
    (624e3, &["i8", "u8"]),
];

/// Devices by their names, as the driver tells them; in brackets the data sheet.
const DEVICES: [(&str, Peaks); 4] = [
    // NVIDIA H200 Tensor Core GPU, SXM, 2024.
    ("NVIDIA H200", Peaks::new(4_800.0, HOPPER)),
    // NVIDIA H100 Tensor Core GPU, SXM, 2022.
    ("NVIDIA H100 80GB HBM3", Peaks::new(3_350.0, HOPPER)),
    // NVIDIA A100 Tensor Core GPU, 2021.
    ("NVIDIA A100-SXM4-80GB", Peaks::new(2_039.0, AMPERE)),
    ("NVIDIA A100-SXM4-40GB", Peaks::new(1_555.0, AMPERE)),
];

impl Peaks {
    const fn new(dram: f64, arithmetic: &'static [(f64, &'static [&'static str])]) -> Self {
        Peaks { dram, arithmetic }
    }

    /// `None` of a device whose data sheet is not here.
    pub fn of(device: &str) -> Option<&'static Peaks> {
        let found = DEVICES.iter().find(|(name, _)| *name == device);
        found.map(|(_, peaks)| peaks)
    }

    /// The rate of the type that the name of a workload has, as in `m=64 T=bf16`.
    pub fn rate(&self, workload: &str) -> Option<f64> {
        let words = workload.split_whitespace();
        let mut values = words.filter_map(|word| word.split_once('='));
        values.find_map(|(_, value)| {
            let mut all = self.arithmetic.iter();
            all.find(|(_, types)| types.contains(&value))
                .map(|(rate, _)| *rate)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_dense_operands_is_that_without_sparsity() {
        let of = |workload| Peaks::of("NVIDIA H200").and_then(|peaks| peaks.rate(workload));
        assert_eq!(of("m=64 n=64 k=64 T=bf16"), Some(989.5e3));
        assert_eq!(of("rows=4096 cols=64 T=f32"), Some(67e3));
        assert_eq!(of("batch=16"), None);
        assert!(Peaks::of("NVIDIA H200 NVL").is_none() && Peaks::of("Test GPU").is_none());
    }
}
