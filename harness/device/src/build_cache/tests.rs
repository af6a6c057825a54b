//! A builder that counts stands in for a compiler.
#![allow(clippy::unwrap_used)]

use super::*;
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
    fn identity(&self) -> String {
        self.identity.clone()
    }
    fn warm(&mut self, _: &BuildRequest) -> bool {
        false
    }
    fn build(&mut self, request: &BuildRequest) -> Result<Built, DeviceError> {
        self.builds.set(self.builds.get() + 1);
        let source = fs::read_to_string(&request.source).unwrap();
        let image = (!source.contains("error")).then(|| {
            let folder = folder(&request.cache_dir);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("build-{}.so", self.builds.get()));
            fs::write(&path, source).unwrap();
            Image { path }
        });
        let log = "kernel.cu:1: warning: w\n".into();
        Ok(Built {
            image,
            log,
            seconds: 1.0,
            reused: false,
            registers: Some(7),
            spill_bytes: None,
            shared_bytes: None,
        })
    }
}

struct Place {
    folder: tempfile::TempDir,
    builds: Rc<Cell<u32>>,
    request: BuildRequest,
}

impl Place {
    fn new(source: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let request = BuildRequest {
            source: folder.path().join("run/kernel.cu"),
            shown_as: "kernels/k/kernel.cu".into(),
            include_dirs: vec![folder.path().join("run"), folder.path().join("shared")],
            defines: vec![("LAB_N".into(), "4".into())],
            options: Vec::new(),
            problem_header: "struct LabDims { int n; };\n".into(),
            arch: "sm_90".into(),
            cache_dir: folder.path().join("cache"),
        };
        let place = Place { folder, builds: Rc::default(), request };
        place.write("run/kernel.cu", source);
        fs::create_dir_all(place.folder.path().join("shared")).unwrap();
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Builds in a new process, so to speak; says whether the image was built before.
    fn reused_by(&self, identity: &str) -> bool {
        let builder = Counting { identity: identity.into(), builds: self.builds.clone() };
        let built = CachedBuilder::new(Box::new(builder)).build(&self.request).unwrap();
        assert_eq!(built.log, "kernel.cu:1: warning: w\n");
        assert_eq!(built.registers, Some(7));
        let source = fs::read_to_string(&self.request.source).unwrap();
        let image = built.image.map(|image| fs::read_to_string(image.path).unwrap());
        assert_eq!(image, (!source.contains("error")).then_some(source));
        built.reused
    }

    fn reused(&self) -> bool {
        self.reused_by("compiler 1.0")
    }
}

#[test]
fn an_undone_edit_costs_no_build() {
    let place = Place::new("one\n");
    assert!(!place.reused());
    place.write("run/kernel.cu", "two\n");
    assert!(!place.reused());
    place.write("run/kernel.cu", "one\n");
    assert!(place.reused());
    assert_eq!(place.builds.get(), 2);
}

#[test]
fn another_folder_is_the_same_source() {
    let mut place = Place::new("#include \"part.cuh\"\n");
    place.write("run/part.cuh", "part\n");
    assert!(!place.reused());
    place.write("run-2/kernel.cu", "#include \"part.cuh\"\n");
    place.write("run-2/part.cuh", "part\n");
    place.request.source = place.folder.path().join("run-2/kernel.cu");
    place.request.include_dirs[0] = place.folder.path().join("run-2");
    assert!(place.reused());
}

#[test]
fn whatever_decides_the_image_makes_it_another() {
    let mut place = Place::new("#include \"part.cuh\"\n#include <deep.cuh>\n");
    place.write("run/part.cuh", "#include \"deep.cuh\"\n");
    place.write("shared/deep.cuh", "1\n");
    assert!(!place.reused());
    assert!(place.reused());
    place.write("shared/deep.cuh", "2\n");
    assert!(!place.reused(), "a header of a header");
    place.write("run/deep.cuh", "2\n");
    assert!(!place.reused(), "a header that now hides another");
    place.request.options.push("-O1".into());
    assert!(!place.reused(), "an option");
    place.request.defines[0].1 = "5".into();
    assert!(!place.reused(), "a macro");
    place.request.arch = "sm_80".into();
    assert!(!place.reused(), "the target");
    place.request.problem_header.push('\n');
    assert!(!place.reused(), "the problem");
    assert!(!place.reused_by("compiler 1.1"), "the compiler");
    assert!(place.reused());
}

#[test]
fn a_folder_among_the_options_is_searched_too() {
    let mut place = Place::new("#include \"tile.cuh\"\n");
    place.request.options.push(format!("-I{}", place.folder.path().join("lib").display()));
    place.write("lib/tile.cuh", "1\n");
    assert!(!place.reused());
    place.write("lib/tile.cuh", "2\n");
    assert!(!place.reused());
    place.write("lib/tile.cuh", "1\n");
    assert!(place.reused());
}

#[test]
fn what_the_hash_cannot_speak_for_is_built_each_time() {
    for source in ["#include WHICH\n", "int when = sizeof(__TIME__);\n", "error\n"] {
        let place = Place::new(source);
        assert!(!place.reused());
        assert!(!place.reused(), "{source}");
    }
}

#[test]
fn an_image_that_was_damaged_is_built_again() {
    let place = Place::new("one\n");
    assert!(!place.reused());
    let images = folder(&place.request.cache_dir);
    let image =
        fs::read_dir(&images).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().unwrap() == "so");
    fs::write(image.unwrap(), "on").unwrap();
    assert!(!place.reused());
    assert!(place.reused());
}

#[test]
fn the_images_used_last_stay() {
    let folder = tempfile::tempdir().unwrap();
    let name = |i: usize, extension: &str| folder.path().join(format!("{i:04}.{extension}"));
    for i in 0..KEPT + 3 {
        let file = fs::File::create(name(i, "cubin")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1000 - i as u64)).unwrap();
        fs::write(name(i, "json"), "").unwrap();
    }
    forget(folder.path()).unwrap();
    for i in 0..KEPT + 3 {
        assert_eq!(name(i, "cubin").exists(), i >= 3, "{i}");
        assert_eq!(name(i, "json").exists(), i >= 3, "{i}");
    }
}
