//! The key of a build in the cache: a hash of everything that the image depends on.

use crate::api::BuildRequest;
use lab_source::cpp::directive::{Include, includes};
use lab_source::cpp::joined;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the key, in hex. `None` where the image may depend on more than can be hashed: an
/// include whose name a macro gives, a time stamp, or a file that cannot be read.
pub fn of(request: &BuildRequest, compiler: &str) -> Option<String> {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes())
            .update(bytes);
    };
    add(compiler.as_bytes());
    add(own_build().as_bytes());
    // The paths do not matter: each run has its snapshot in another folder.
    let without_paths = BuildRequest {
        source: PathBuf::new(),
        include_dirs: Vec::new(),
        cache_dir: PathBuf::new(),
        ..request.clone()
    };
    add(&serde_json::to_vec(&without_paths).ok()?);

    let mut folders = request.include_dirs.clone();
    folders.extend(request.options.include_folders().map(PathBuf::from));
    let mut seen = HashSet::new();
    let mut next = vec![(String::new(), request.source.clone())];
    while let Some((position, path)) = next.pop() {
        let bytes = std::fs::read(&path).ok()?;
        add(position.as_bytes());
        add(&bytes);
        if !seen.insert(path.clone()) {
            continue;
        }
        let own = path.parent().map(Path::to_owned);
        for name in included(&bytes)? {
            // Takes every file of that name, because the compiler decides in which order it
            // searches the folders. A name that is in none of them belongs to the toolkit or to the
            // lab.
            for (index, folder) in own.iter().chain(&folders).enumerate() {
                let path = folder.join(&name);
                if path.is_file() {
                    next.push((format!("{index} {name}"), path));
                }
            }
        }
    }
    Some(hash.finalize().to_hex().to_string())
}

/// Identifies this program's own build by its file: another build may rewrite the source
/// differently, or embed other headers.
pub fn own_build() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        format!(
            "{} {}",
            env!("CARGO_PKG_VERSION"),
            super::stamp(Path::new("/proc/self/exe"))
        )
    })
}

/// The names in a source's include directives, also of those that a condition leaves out. `None`
/// where a directive does not spell its file's name, or where the source asks for the time.
fn included(source: &[u8]) -> Option<Vec<String>> {
    const UNHASHABLE: &str = "\
        __DATE__ __TIME__ __TIMESTAMP__ __has_include include_next #embed %:";
    let text = String::from_utf8_lossy(source);
    let text = joined(&text);
    if UNHASHABLE.split(' ').any(|word| text.contains(word)) {
        return None;
    }
    let name = |include| match include {
        Include::Quoted(name) | Include::Angled(name) => Some(name),
        Include::Macro(_) => None,
    };
    includes(source).into_iter().map(name).collect()
}
