//! NVRTC, bound by hand: what is needed to turn text into a cubin and a log, and nothing more.
#![allow(unsafe_code)]

use super::toolkit::Toolkit;
use crate::api::DeviceError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

type Handle = *mut c_void;

/// The functions of a loaded NVRTC. It is never unloaded: it keeps state that belongs to the process.
pub struct Nvrtc {
    pub version: (u32, u32),
    /// Compute capabilities that it can build for, as in 90.
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
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
}

/// One compilation.
pub struct Input<'a> {
    pub text: &'a [u8],
    /// The path that diagnostics show; quoted includes are looked up in its folder.
    pub name: &'a str,
    /// Name and text of headers that need no file.
    pub headers: &'a [(&'a str, &'a str)],
    pub options: &'a [String],
}

/// `cubin` is `None` where the text, or the options, had errors: the log tells them.
pub struct Output {
    pub cubin: Option<Vec<u8>>,
    pub log: String,
}

const SUCCESS: c_int = 0;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

/// A program handle that is destroyed on every way out.
struct Program<'a> {
    handle: Handle,
    nvrtc: &'a Nvrtc,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` and is destroyed once.
        unsafe { (self.nvrtc.destroy)(&mut self.handle) };
    }
}

impl Nvrtc {
    pub fn load(toolkit: &Toolkit) -> Result<Nvrtc, DeviceError> {
        Self::bind(toolkit).map_err(|e| {
            DeviceError::Unavailable(format!(
                "NVRTC at {} cannot be loaded: {e}. Reinstall the CUDA toolkit, or point CUDA_HOME at another.",
                toolkit.library.display()
            ))
        })
    }

    fn bind(toolkit: &Toolkit) -> Result<Nvrtc, libloading::Error> {
        // SAFETY: running NVRTC's initialisers is what loading it is for; the path was found as a
        // toolkit's library. The library is leaked, so that the function pointers stay valid.
        let library: &'static libloading::Library =
            Box::leak(Box::new(unsafe { libloading::Library::new(&toolkit.library) }?));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the field that takes it is the one that nvrtc.h declares.
                unsafe { *library.get($name)? }
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = function!(b"nvrtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        unsafe { version(&mut major, &mut minor) };
        let count_archs: unsafe extern "C" fn(*mut c_int) -> c_int = function!(b"nvrtcGetNumSupportedArchs");
        let get_archs: unsafe extern "C" fn(*mut c_int) -> c_int = function!(b"nvrtcGetSupportedArchs");
        let mut count = 0;
        // SAFETY: the pointer is to a live integer; then the vector has the length that was asked for.
        let archs = unsafe {
            count_archs(&mut count);
            let mut archs = vec![0; count.max(0) as usize];
            get_archs(archs.as_mut_ptr());
            archs
        };
        Ok(Nvrtc {
            version: (major as u32, minor as u32),
            archs: archs.into_iter().map(|arch| arch as u32).collect(),
            error_string: function!(b"nvrtcGetErrorString"),
            create: function!(b"nvrtcCreateProgram"),
            destroy: function!(b"nvrtcDestroyProgram"),
            compile: function!(b"nvrtcCompileProgram"),
            log_size: function!(b"nvrtcGetProgramLogSize"),
            log: function!(b"nvrtcGetProgramLog"),
            cubin_size: function!(b"nvrtcGetCUBINSize"),
            cubin: function!(b"nvrtcGetCUBIN"),
        })
    }

    /// Whether precompiled headers can be made.
    pub fn has_pch(&self) -> bool {
        self.version >= (12, 8)
    }

    pub fn compile(&self, input: &Input) -> Result<Output, DeviceError> {
        let text = c_string(input.text, "the source")?;
        let name = c_string(input.name, "the name of the source")?;
        let header_names = c_strings(input.headers.iter().map(|(name, _)| *name))?;
        let header_texts = c_strings(input.headers.iter().map(|(_, text)| *text))?;
        let options = c_strings(input.options.iter().map(String::as_str))?;
        let (names, texts) = (pointers(&header_names), pointers(&header_texts));
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: every string is NUL-terminated and outlives the call; the two arrays have the
        // length that is given.
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
            return Err(self.failure("make a program", code));
        }
        let program = Program { handle, nvrtc: self };
        let option_pointers = pointers(&options);
        // SAFETY: the array has the length that is given, its strings outlive the call.
        let code = unsafe {
            (self.compile)(program.handle, option_pointers.len() as c_int, option_pointers.as_ptr())
        };
        let log = self.bytes(&program, self.log_size, self.log)?;
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
        let cubin = match code {
            SUCCESS => Some(self.bytes(&program, self.cubin_size, self.cubin)?),
            COMPILATION | INVALID_OPTION => None,
            _ => return Err(self.failure(&format!("compile {} ({})", input.name, log.trim()), code)),
        };
        Ok(Output { cubin, log })
    }

    fn bytes(
        &self,
        program: &Program,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>, DeviceError> {
        let mut length = 0;
        // SAFETY: the handle is live, and the buffer is as long as NVRTC said it must be.
        let (code, bytes) = unsafe {
            let code = size(program.handle, &mut length);
            let mut bytes = vec![0u8; length];
            (if code == SUCCESS { get(program.handle, bytes.as_mut_ptr().cast()) } else { code }, bytes)
        };
        if code == SUCCESS { Ok(bytes) } else { Err(self.failure("hand over what it made", code)) }
    }

    fn failure(&self, doing: &str, code: c_int) -> DeviceError {
        // SAFETY: the function returns a static string for every code.
        let name = unsafe { CStr::from_ptr((self.error_string)(code)) }.to_string_lossy();
        DeviceError::Unavailable(format!(
            "NVRTC {}.{} could not {doing}: {name}. If it happens again, try another CUDA toolkit by CUDA_HOME.",
            self.version.0, self.version.1
        ))
    }
}

fn c_string(text: impl Into<Vec<u8>>, what: &str) -> Result<CString, DeviceError> {
    CString::new(text).map_err(|_| {
        DeviceError::Driver(format!("{what} holds a NUL byte, which no compiler takes: remove it"))
    })
}

fn c_strings<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<CString>, DeviceError> {
    texts.map(|text| c_string(text, "an option or a header")).collect()
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|s| s.as_ptr()).collect()
}
