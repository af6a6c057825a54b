//! Digests of device memory, computed by `lab_digest` of `tools.cu`.

use super::CudaDriver;
use crate::api::{DeviceError, Driver, Entry, ExecutionOrder, Shape};

/// Threads of a block, and the words that a thread reads at least before another block helps.
const THREADS: u32 = 256;
const WORDS_PER_THREAD: usize = 8;

/// Ranges of one launch: the largest grid in y.
const RANGES: usize = 65_535;

/// The kernel, and the device memory that it reads its ranges from and adds its sums to.
pub struct Tools {
    digest: Entry,
    /// Address and bytes of the memory; none before the first use.
    memory: Option<(u64, usize)>,
}

impl CudaDriver {
    /// See [`Driver::use_tools`].
    pub(super) fn load_tools(&mut self, image: &std::path::Path) -> Result<(), DeviceError> {
        let module = self.load(image)?;
        let Some(digest) = self.entry(module, "lab_digest")? else {
            return Err(DeviceError::Driver(format!("{} has no kernel lab_digest", image.display())));
        };
        self.tools = Some(Tools { digest, memory: None });
        Ok(())
    }

    /// The digests of these ranges; `None` where the tools are not loaded.
    pub(super) fn digests_by_kernel(
        &mut self,
        ranges: &[(u64, usize)],
        key: u64,
    ) -> Result<Option<Vec<u64>>, DeviceError> {
        if self.tools.is_none() {
            return Ok(None);
        }
        let mut sums = Vec::with_capacity(ranges.len());
        for ranges in ranges.chunks(RANGES) {
            sums.extend(self.launch_digest(ranges, key)?);
        }
        Ok(Some(sums))
    }

    fn launch_digest(&mut self, ranges: &[(u64, usize)], key: u64) -> Result<Vec<u64>, DeviceError> {
        for (address, bytes) in ranges {
            self.allocations.check(*address, *bytes)?;
        }
        let (inputs, results) = (16 * ranges.len(), 8 * ranges.len());
        let Some(Tools { digest, memory }) = self.tools.take() else { return Ok(Vec::new()) };
        let memory = match memory {
            Some((address, size)) if size >= inputs + results => (address, size),
            small => {
                if let Some((address, _)) = small {
                    self.free(address)?;
                }
                let size = (inputs + results).next_power_of_two();
                (self.alloc(size)?, size)
            }
        };
        self.tools = Some(Tools { digest, memory: Some(memory) });
        let mut bytes: Vec<u8> = Vec::with_capacity(inputs + results);
        for (address, length) in ranges {
            bytes.extend(address.to_le_bytes());
            bytes.extend((*length as u64).to_le_bytes());
        }
        bytes.resize(inputs + results, 0);
        let (at, sums_at) = (memory.0, memory.0 + inputs as u64);
        self.upload(at, &bytes)?;
        let most = ranges.iter().map(|(_, bytes)| bytes.div_ceil(4)).max().unwrap_or(0);
        let blocks = most.div_ceil(THREADS as usize * WORDS_PER_THREAD).clamp(1, 4 * self.info.sms as usize);
        let shape = Shape {
            grid: [blocks as u32, ranges.len() as u32, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            cooperative: false,
        };
        let args = [at, sums_at, key].map(|value| value.to_le_bytes().to_vec());
        self.launch(digest, &shape, &args, ExecutionOrder::Forward)?;
        let mut sums = vec![0; results];
        self.download(sums_at, &mut sums)?;
        Ok(sums.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect())
    }
}
