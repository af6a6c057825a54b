//! The functions of NVRTC that compile a text to a cubin and a log.
#![allow(unsafe_code)]

use super::toolkit::Toolkit;
use crate::api::{DeviceError, Result, with_causes};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

type Handle = *mut c_void;
/// Returns the size of a result.
type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
/// Writes a result to a buffer of its size.
type GetBytes = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// The functions of a loaded NVRTC. The library is never unloaded, because its state belongs to the
/// process.
pub struct Nvrtc {
    pub version: (u32, u32),
    /// Compute capabilities that it can build for, such as 90.
    pub archs: Vec<u32>,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log: (GetSize, GetBytes),
    cubin: (GetSize, GetBytes),
}

/// What to compile.
pub struct Input<'a> {
    pub text: &'a [u8],
    /// The path that diagnostics show. NVRTC looks up quoted includes in its folder.
    pub name: &'a str,
    /// Name and text of headers that need no file.
    pub headers: &'a [(&'a str, &'a str)],
    pub options: &'a [String],
    /// The options ask NVRTC to look at the text only, so there is no cubin.
    pub syntax_only: bool,
}

/// The result of a compilation.
pub struct Output {
    /// Whether the text and the options have no errors. They are in the log.
    pub taken: bool,
    /// `None` where there are errors, or where only the syntax was looked at.
    pub cubin: Option<Vec<u8>>,
    pub log: String,
}

const SUCCESS: c_int = 0;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

/// A handle of NVRTC, which is destroyed when it goes out of scope.
struct Program<'a> {
    handle: Handle,
    nvrtc: &'a Nvrtc,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create`, nothing else holds it, and it is destroyed once.
        unsafe { (self.nvrtc.destroy)(&mut self.handle) };
    }
}

impl Nvrtc {
    pub fn load(toolkit: &Toolkit) -> Result<Nvrtc> {
        Self::bind(toolkit).map_err(|e| {
            DeviceError::Unavailable(format!(
                "cannot load NVRTC from {}: {e}. Reinstall the CUDA toolkit, or set CUDA_HOME to another.",
                toolkit.library.display()
            ))
        })
    }

    fn bind(toolkit: &Toolkit) -> Result<Nvrtc, String> {
        // SAFETY: loading a library runs its initialisers. Those of NVRTC may run at any time, on
        // any thread. A user who puts another file under NVRTC's name into a toolkit's folder
        // chooses to run that file's code.
        let library: &'static libloading::Library = Box::leak(Box::new(
            unsafe { libloading::Library::new(&toolkit.library) }.map_err(|e| with_causes(&e))?,
        ));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: nvrtc.h declares the function of this name with the type of the field or
                // variable that takes it. The pointer stays valid, because the library is leaked
                // above.
                unsafe { *library.get($name).map_err(|e| with_causes(&e))? }
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
            function!(b"nvrtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are live integers to write to.
        succeeded(unsafe { version(&mut major, &mut minor) }, "nvrtcVersion")?;
        load_builtins(&toolkit.library, (major, minor))?;
        let count_archs: unsafe extern "C" fn(*mut c_int) -> c_int =
            function!(b"nvrtcGetNumSupportedArchs");
        let get_archs: unsafe extern "C" fn(*mut c_int) -> c_int =
            function!(b"nvrtcGetSupportedArchs");
        let mut count = 0;
        // SAFETY: `count` is a live integer to write to. `get_archs` writes `count` integers.
        let archs = unsafe {
            succeeded(count_archs(&mut count), "nvrtcGetNumSupportedArchs")?;
            let mut archs = vec![0; count.max(0) as usize];
            succeeded(get_archs(archs.as_mut_ptr()), "nvrtcGetSupportedArchs")?;
            archs
        };
        Ok(Nvrtc {
            version: (major as u32, minor as u32),
            archs: archs.into_iter().map(|arch| arch as u32).collect(),
            error_string: function!(b"nvrtcGetErrorString"),
            create: function!(b"nvrtcCreateProgram"),
            destroy: function!(b"nvrtcDestroyProgram"),
            compile: function!(b"nvrtcCompileProgram"),
            log: (
                function!(b"nvrtcGetProgramLogSize"),
                function!(b"nvrtcGetProgramLog"),
            ),
            cubin: (function!(b"nvrtcGetCUBINSize"), function!(b"nvrtcGetCUBIN")),
        })
    }

    /// Whether this NVRTC can precompile headers: from 12.8 on.
    pub fn has_pch(&self) -> bool {
        self.version >= (12, 8)
    }

    /// Compiles one line, and fails where NVRTC cannot: parts of it may be missing.
    pub fn try_out(&self) -> Result<()> {
        let oldest = self.archs.iter().min().unwrap_or(&90);
        let line = Input {
            text: b"__global__ void line() {}",
            name: "line.cu",
            headers: &[],
            options: &[format!("--gpu-architecture=sm_{oldest}")],
            syntax_only: false,
        };
        match self.compile(&line)? {
            Output { taken: true, .. } => Ok(()),
            Output { log, .. } => Err(DeviceError::Unavailable(format!(
                "NVRTC {}.{} cannot compile one line: {}. Reinstall the CUDA toolkit, or set CUDA_HOME to another.",
                self.version.0,
                self.version.1,
                log.trim()
            ))),
        }
    }

    /// Compiles a text. Errors in it are an `Ok` without a cubin; an `Err` means that NVRTC failed.
    pub fn compile(&self, input: &Input) -> Result<Output> {
        let text = c_string(input.text, "the source")?;
        let name = c_string(input.name, "the name of the source")?;
        let header_names = c_strings(input.headers.iter().map(|(name, _)| *name))?;
        let header_texts = c_strings(input.headers.iter().map(|(_, text)| *text))?;
        let options = c_strings(input.options.iter().map(String::as_str))?;
        let (names, texts) = (pointers(&header_names), pointers(&header_texts));
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: every string ends with a NUL and lives until the call returns. Both arrays have
        // the given length. NVRTC copies what it keeps.
        let code = unsafe {
            (self.create)(
                &mut handle,
                text.as_ptr(),
                name.as_ptr(),
                names.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        if code != SUCCESS {
            return Err(self.failure("create a program", code));
        }
        let program = Program {
            handle,
            nvrtc: self,
        };
        let option_pointers = pointers(&options);
        // SAFETY: the handle is live. The array has the given length, and its strings live until
        // the call returns.
        let code = unsafe {
            (self.compile)(
                program.handle,
                option_pointers.len() as c_int,
                option_pointers.as_ptr(),
            )
        };
        let log = self.bytes(&program, self.log)?;
        let log = String::from_utf8_lossy(&log)
            .trim_end_matches('\0')
            .to_owned();
        let cubin = match code {
            SUCCESS if input.syntax_only => None,
            SUCCESS => Some(self.bytes(&program, self.cubin)?),
            COMPILATION | INVALID_OPTION => None,
            _ => {
                return Err(self.failure(&format!("compile {} ({})", input.name, log.trim()), code));
            }
        };
        Ok(Output {
            taken: code == SUCCESS,
            cubin,
            log,
        })
    }

    /// Returns the log or the cubin of a program: asks for its size, then for its bytes.
    fn bytes(&self, program: &Program, (size, get): (GetSize, GetBytes)) -> Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the handle is live, `length` is a live integer to write to, and the buffer has
        // the length that NVRTC asked for.
        unsafe {
            let mut code = size(program.handle, &mut length);
            let mut bytes = vec![0u8; length];
            if code == SUCCESS {
                code = get(program.handle, bytes.as_mut_ptr().cast());
            }
            match code {
                SUCCESS => Ok(bytes),
                code => Err(self.failure("return the result", code)),
            }
        }
    }

    fn failure(&self, action: &str, code: c_int) -> DeviceError {
        // SAFETY: the function returns a static string with a NUL at its end, for every code.
        let name = unsafe { CStr::from_ptr((self.error_string)(code)) }.to_string_lossy();
        DeviceError::Unavailable(format!(
            "NVRTC {}.{} could not {action}: {name}. If it happens again, use another CUDA toolkit: set CUDA_HOME.",
            self.version.0, self.version.1
        ))
    }
}

/// Loads the library of built-in functions that lies beside NVRTC, if there is one. NVRTC opens it
/// by its name alone, and finds it then wherever it lies: the NVRTC of some wheels does not look in
/// its own folder.
fn load_builtins(library: &Path, (major, minor): (c_int, c_int)) -> Result<(), String> {
    let builtins = library.with_file_name(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if builtins.is_file() {
        // SAFETY: as for NVRTC itself, which loads the same file later.
        let loaded = unsafe { libloading::Library::new(&builtins) };
        // It stays loaded, as NVRTC does.
        std::mem::forget(loaded.map_err(|e| with_causes(&e))?);
    }
    Ok(())
}

/// Fails where a function of NVRTC has failed that has no description of its error.
fn succeeded(code: c_int, function: &str) -> Result<(), String> {
    if code == SUCCESS {
        Ok(())
    } else {
        Err(format!("{function} failed with code {code}"))
    }
}

fn c_string(text: impl Into<Vec<u8>>, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        DeviceError::Driver(format!(
            "{what} holds a NUL byte, which no compiler accepts. Remove it."
        ))
    })
}

fn c_strings<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<CString>> {
    texts
        .map(|text| c_string(text, "an option or a header"))
        .collect()
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|s| s.as_ptr()).collect()
}
