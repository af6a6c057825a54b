//! The cache in front of a fake compiler that counts its builds.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::api::Resources;
use lab_protocol::CompileOptions;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

struct Counting {
    identity: String,
    builds: Rc<Cell<u32>>,
}

impl Builder for Counting {
    fn version(&self) -> String {
        self.identity.clone()
    }
    fn key(&self, request: &BuildRequest) -> Option<String> {
        key_of(request, &self.identity)
    }
    fn warm(&mut self, _: &BuildRequest) -> bool {
        false
    }
    fn build(&mut self, request: &BuildRequest) -> Result<Built> {
        self.builds.set(self.builds.get() + 1);
        let source = fs::read_to_string(&request.source).unwrap();
        let image = (!source.contains("error")).then(|| {
            let folder = folder(&request.cache_dir);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("build-{}.so", self.builds.get()));
            fs::write(&path, source).unwrap();
            path
        });
        let log = "kernel.cu:1: warning: w\n".into();
        Ok(Built {
            image,
            log,
            seconds: 1.0,
            reused: false,
            device_branch: None,
            resources: Resources {
                registers: Some(7),
                ..Resources::default()
            },
        })
    }
}

struct TestFolder {
    folder: tempfile::TempDir,
    builds: Rc<Cell<u32>>,
    request: BuildRequest,
}

fn options(one: &str) -> CompileOptions {
    CompileOptions::parse(&[one.to_owned()]).unwrap()
}

impl TestFolder {
    fn new(source: &str) -> TestFolder {
        let folder = tempfile::tempdir().unwrap();
        let request = BuildRequest {
            source: folder.path().join("run/kernel.cu"),
            shown_as: "kernels/k/kernel.cu".into(),
            include_dirs: vec![folder.path().join("run"), folder.path().join("shared")],
            defines: vec![("LAB_N".into(), "4".into())],
            options: CompileOptions::default(),
            sanitizer: None,
            problem_header: "struct LabDims { int n; };\n".into(),
            arch: "sm_90".into(),
            cache_dir: folder.path().join("cache"),
        };
        let dir = TestFolder {
            folder,
            builds: Rc::default(),
            request,
        };
        dir.write("run/kernel.cu", source);
        fs::create_dir_all(dir.folder.path().join("shared")).unwrap();
        dir
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Builds with a new builder, as a new process would. Returns whether the image came from the
    /// cache.
    fn reused_by(&self, identity: &str) -> bool {
        let mut builder = Counting {
            identity: identity.into(),
            builds: self.builds.clone(),
        };
        let built = build(&mut builder, &self.request).unwrap();
        assert_eq!(built.log, "kernel.cu:1: warning: w\n");
        assert_eq!(built.resources.registers, Some(7));
        let source = fs::read_to_string(&self.request.source).unwrap();
        let image = built.image.map(|image| fs::read_to_string(image).unwrap());
        assert_eq!(image, (!source.contains("error")).then_some(source));
        built.reused
    }

    fn reused(&self) -> bool {
        self.reused_by("compiler 1.0")
    }
}

#[test]
fn an_undone_edit_needs_no_build() {
    let dir = TestFolder::new("one\n");
    assert!(!dir.reused());
    dir.write("run/kernel.cu", "two\n");
    assert!(!dir.reused());
    dir.write("run/kernel.cu", "one\n");
    assert!(dir.reused());
    assert_eq!(dir.builds.get(), 2);
}

#[test]
fn the_same_source_in_another_folder_needs_no_build() {
    let mut dir = TestFolder::new("#include \"part.cuh\"\n");
    dir.write("run/part.cuh", "part\n");
    assert!(!dir.reused());
    dir.write("run-2/kernel.cu", "#include \"part.cuh\"\n");
    dir.write("run-2/part.cuh", "part\n");
    dir.request.source = dir.folder.path().join("run-2/kernel.cu");
    dir.request.include_dirs[0] = dir.folder.path().join("run-2");
    assert!(dir.reused());
}

#[test]
fn a_change_of_anything_the_image_depends_on_needs_a_build() {
    let mut dir = TestFolder::new("#include \"part.cuh\"\n#include <deep.cuh>\n");
    dir.write("run/part.cuh", "#include \"deep.cuh\"\n");
    dir.write("shared/deep.cuh", "1\n");
    assert!(!dir.reused());
    assert!(dir.reused());
    dir.write("shared/deep.cuh", "2\n");
    assert!(!dir.reused(), "a header of a header");
    dir.write("run/deep.cuh", "2\n");
    assert!(!dir.reused(), "a header that hides another");
    dir.request.options = options("-O1");
    assert!(!dir.reused(), "an option");
    dir.request.defines[0].1 = "5".into();
    assert!(!dir.reused(), "a macro");
    dir.request.arch = "sm_80".into();
    assert!(!dir.reused(), "the target");
    dir.request.problem_header.push('\n');
    assert!(!dir.reused(), "the problem");
    assert!(!dir.reused_by("compiler 1.1"), "the compiler");
    assert!(dir.reused());
}

#[test]
fn a_folder_among_the_options_is_searched_too() {
    let mut dir = TestFolder::new("#include \"tile.cuh\"\n");
    dir.request.options = options(&format!("-I{}", dir.folder.path().join("lib").display()));
    dir.write("lib/tile.cuh", "1\n");
    assert!(!dir.reused());
    dir.write("lib/tile.cuh", "2\n");
    assert!(!dir.reused());
    dir.write("lib/tile.cuh", "1\n");
    assert!(dir.reused());
}

#[test]
fn a_source_that_cannot_be_hashed_is_built_each_time() {
    for source in [
        "#include WHICH\n",
        "int when = sizeof(__TIME__);\n",
        "error\n",
    ] {
        let dir = TestFolder::new(source);
        assert!(!dir.reused());
        assert!(!dir.reused(), "{source}");
    }
}

#[test]
fn a_damaged_image_is_built_again() {
    let dir = TestFolder::new("one\n");
    assert!(!dir.reused());
    let images = folder(&dir.request.cache_dir);
    let image = fs::read_dir(&images)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().unwrap() == "so");
    fs::write(image.unwrap(), "on").unwrap();
    assert!(!dir.reused());
    assert!(dir.reused());
}

/// A cache with images of so many bytes, each used later than the one before, and with their
/// records.
fn images(bytes: &[usize]) -> (tempfile::TempDir, impl Fn(usize, &str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let name = move |i: usize, extension: &str| path.join(format!("{i:04}.{extension}"));
    for (i, bytes) in bytes.iter().enumerate() {
        let file = fs::File::create(name(i, "cubin")).unwrap();
        file.set_len(*bytes as u64).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1000 - i as u64))
            .unwrap();
        fs::write(name(i, "json"), "").unwrap();
    }
    (folder, name)
}

#[test]
fn the_images_used_last_are_kept() {
    let (folder, name) = images(&[1; MAX_IMAGES + 3]);
    evict(folder.path(), MAX_BYTES).unwrap();
    for i in 0..MAX_IMAGES + 3 {
        assert_eq!(name(i, "cubin").exists(), i >= 3, "{i}");
        assert_eq!(name(i, "json").exists(), i >= 3, "{i}");
    }
}

#[test]
fn the_images_have_so_many_bytes_at_most() {
    let kept = |bytes: &[usize]| {
        let (folder, name) = images(bytes);
        evict(folder.path(), 100).unwrap();
        (0..bytes.len())
            .filter(|i| name(*i, "cubin").exists() && name(*i, "json").exists())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&[50, 50, 40, 10]), [1, 2, 3]);
    assert_eq!(
        kept(&[10, 90, 20, 30]),
        [2, 3],
        "an image that was used before one that does not fit goes too"
    );
    assert_eq!(kept(&[10, 10, 101]), [2], "the image of this build stays");
}

#[test]
fn an_image_that_another_run_has_just_found_stays() {
    let (folder, name) = images(&[60, 60, 60]);
    mark_used(&name(0, "cubin"));
    evict(folder.path(), 100).unwrap();
    let kept = (0..3).filter(|i| name(*i, "cubin").exists());
    assert_eq!(kept.collect::<Vec<_>>(), [0]);
    let (folder, name) = images(&[60, 60, 60]);
    mark_used(&name(0, "cubin"));
    mark_used(&name(1, "cubin"));
    evict(folder.path(), 100).unwrap();
    let kept = (0..3).filter(|i| name(*i, "cubin").exists());
    assert_eq!(kept.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_cache_that_cannot_be_written_keeps_the_image_and_says_why() {
    let dir = TestFolder::new("one\n");
    let images = folder(&dir.request.cache_dir);
    let key = key::of(&dir.request, "compiler 1.0").unwrap();
    // A folder in the record's place: the record cannot be written.
    fs::create_dir_all(record_path(&images, &key).join("full")).unwrap();
    let mut builder = Counting {
        identity: "compiler 1.0".into(),
        builds: dir.builds.clone(),
    };
    let built = build(&mut builder, &dir.request).unwrap();
    assert_eq!(fs::read_to_string(built.image.unwrap()).unwrap(), "one\n");
    let expected = format!(
        "note: the build cache in {} cannot be written: ",
        images.display()
    );
    assert!(built.log.contains(&expected), "{}", built.log);
}
