//! reference.cu: the plain, trusted kernel, on a worker of its own. What it expects never enters
//! the candidate's process.

use super::bench::{Bench, Inputs, Outputs};
use super::spec::{Role, Spec};
use crate::device::{Image, Order};
use crate::problem::{Context, Stop};
use crate::process::worker::{ModuleId, Worker};
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub struct Reference {
    source: PathBuf,
    worker: Worker,
    module: ModuleId,
}

impl Reference {
    /// Builds reference.cu, or takes the image of an earlier run that was built from the same, and
    /// starts its worker.
    pub fn start(spec: &Spec, folder: &Path, cx: &mut Context) -> Result<Self, Stop> {
        let source = folder.join("reference.cu");
        if !source.is_file() {
            return Err(Stop::Problem(format!(
                "{} is missing: a plain kernel with the entries of problem.toml, which says what is right",
                source.display()
            )));
        }
        let image = image(spec, folder, &source, cx)?;
        let mut worker = (cx.spawn_worker)()?;
        let module = worker.load(&image.path)?;
        for entry in spec.entries() {
            worker.require_entry(module, entry).map_err(|stop| blame(&source, stop))?;
        }
        Ok(Reference { source, worker, module })
    }

    /// What a launch on these inputs must write.
    pub fn expect(&mut self, spec: &Rc<Spec>, index: usize, inputs: &Inputs) -> Result<Outputs, Stop> {
        let worker = &mut self.worker;
        let blame = |stop| blame(&self.source, stop);
        let bench = Bench::set_up(spec, index, worker, self.module, std::slice::from_ref(inputs))?;
        bench.launch(worker, 0, inputs, Order::Forward).map_err(blame)?;
        let breaches = worker.breaches().map_err(blame)?;
        let outputs = bench.outputs(worker).map_err(blame)?;
        if let Some(breach) = breaches.first() {
            return Err(blame(Stop::Crash(bench.describe(breach))));
        }
        bench.take_down(worker)?;
        let case = &spec.cases[index];
        for ((tensor, shaped), content) in spec.tensors.iter().zip(&case.tensors).zip(&outputs) {
            let Some(content) = content.as_ref().filter(|_| tensor.role == Role::Out) else { continue };
            let unwritten = content.chunks_exact(shaped.dtype.size()).position(|c| shaped.dtype.is_poison(c));
            if let Some(cell) = unwritten {
                let place = format!("{}{} ({})", tensor.name, shaped.index(cell), case.label);
                return Err(blame(Stop::Crash(format!("never wrote {place}"))));
            }
        }
        Ok(outputs)
    }
}

/// Whatever goes wrong here is the problem's fault, not the candidate's.
fn blame(source: &Path, stop: Stop) -> Stop {
    Stop::Problem(format!("{}: {stop}", source.display()))
}

/// The image, kept from run to run: building it takes as long as building the candidate.
fn image(spec: &Spec, folder: &Path, source: &Path, cx: &mut Context) -> Result<Image, Stop> {
    let lab = |e: std::io::Error| Stop::Lab(format!("the cache of references: {e}"));
    let kept = cx.cache_dir.join("references").join(key(spec, folder, cx).map_err(lab)?);
    if kept.is_file() {
        return Ok(Image { path: kept });
    }
    let built = (cx.build)(source, &spec.header())?;
    std::fs::create_dir_all(kept.parent().unwrap_or(cx.cache_dir)).map_err(lab)?;
    // Copied under another name and renamed, so that nobody ever loads half an image.
    let mut partial = kept.clone();
    partial.set_extension(format!("{}.part", std::process::id()));
    std::fs::copy(&built.path, &partial).map_err(lab)?;
    std::fs::rename(&partial, &kept).map_err(lab)?;
    forget_old(kept.parent().unwrap_or(cx.cache_dir));
    Ok(Image { path: kept })
}

/// Keeps the newest images only. What cannot be removed is no harm.
fn forget_old(folder: &Path) {
    const KEPT: usize = 32;
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let made = |e: &std::fs::DirEntry| e.metadata().and_then(|m| m.modified()).ok();
    let mut images: Vec<_> = entries.flatten().map(|e| (made(&e), e.path())).collect();
    images.sort();
    let old = images.len().saturating_sub(KEPT);
    images[..old].iter().for_each(|(_, path)| drop(std::fs::remove_file(path)));
}

/// Everything that the image depends on: the sources in the folder but the candidate's, the
/// generated header, the device, and this executable, which holds lab.h and knows the compiler.
fn key(spec: &Spec, folder: &Path, cx: &Context) -> std::io::Result<String> {
    let mut hash = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    let mut sources: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let source = [".cu", ".cuh", ".h", ".hpp", ".inc"].iter().any(|end| name.ends_with(end));
        if source && name != "kernel.cu" && path.is_file() {
            sources.push(path);
        }
    }
    sources.sort();
    for path in sources {
        add(path.file_name().unwrap_or_default().as_encoded_bytes());
        add(&std::fs::read(&path)?);
    }
    add(spec.header().as_bytes());
    add(format!("{:?} {:?}", cx.device, std::env::var_os("CXX")).as_bytes());
    let own = std::fs::metadata(std::env::current_exe()?)?;
    add(format!("{} {:?}", own.len(), own.modified()?).as_bytes());
    Ok(hash.finalize().to_hex().to_string())
}
