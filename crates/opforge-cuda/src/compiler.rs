//! NVRTC: from CUDA C to what the driver loads.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use opforge_core::{Error, Result};

use crate::driver::Handle;
use crate::library::{absent, functions, open};

type Texts = *const *const c_char;

functions! {
    /// NVRTC.
    Functions {
        version = "nvrtcVersion" (*mut c_int, *mut c_int);
        architecture_count = "nvrtcGetNumSupportedArchs" (*mut c_int);
        architectures = "nvrtcGetSupportedArchs" (*mut c_int);
        create = "nvrtcCreateProgram" (*mut Handle, *const c_char, *const c_char, c_int, Texts, Texts);
        compile = "nvrtcCompileProgram" (Handle, c_int, Texts);
        destroy = "nvrtcDestroyProgram" (*mut Handle);
        log_size = "nvrtcGetProgramLogSize" (Handle, *mut usize);
        log = "nvrtcGetProgramLog" (Handle, *mut c_char);
        code_size = "nvrtcGetCUBINSize" (Handle, *mut usize);
        code = "nvrtcGetCUBIN" (Handle, *mut c_char);
        text_size = "nvrtcGetPTXSize" (Handle, *mut usize);
        text = "nvrtcGetPTX" (Handle, *mut c_char);
    }
}

/// The compiler.
pub struct Compiler {
    functions: Functions,
    /// Its version.
    pub version: (u32, u32),
    /// The compute capabilities that it knows, as `90` for 9.0, in order.
    pub architectures: Vec<u32>,
}

/// A program of the compiler's, destroyed at the end.
struct Unit<'a>(&'a Functions, Handle);

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created, and is not used any more.
        unsafe { (self.0.destroy)(&mut self.1) };
    }
}

impl Unit<'_> {
    /// What one function writes, of the size that another tells.
    fn bytes(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        read: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> Vec<u8> {
        let mut len = 0;
        // SAFETY: as many bytes are written as were asked for.
        unsafe {
            size(self.1, &mut len);
            let mut bytes = vec![0u8; len];
            read(self.1, bytes.as_mut_ptr().cast());
            bytes
        }
    }
}

impl Compiler {
    /// The compiler, opened at the first call.
    ///
    /// # Errors
    /// [`Error::Device`] where there is none: `pip install nvidia-cuda-nvrtc` brings it.
    pub fn get() -> Result<&'static Compiler> {
        static COMPILER: OnceLock<std::result::Result<Compiler, String>> = OnceLock::new();
        let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];
        let names = if cfg!(windows) { &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"][..] } else { &names };
        let start = || {
            let functions = Functions::of(open(names)?)?;
            let (mut major, mut minor, mut count) = (0, 0, 0);
            // SAFETY: numbers are written, as many as were counted.
            let architectures = unsafe {
                (functions.version)(&mut major, &mut minor);
                (functions.architecture_count)(&mut count);
                let mut list = vec![0; count.max(0) as usize];
                (functions.architectures)(list.as_mut_ptr());
                list.into_iter().map(|number| number as u32).collect()
            };
            Ok(Compiler { functions, version: (major as u32, minor as u32), architectures })
        };
        let missing =
            |missing: &String| absent("NVRTC", &format!("{missing}; `pip install nvidia-cuda-nvrtc` brings it"));
        COMPILER.get_or_init(start).as_ref().map_err(missing)
    }

    /// How code for a GPU of this compute capability is asked for: machine code where the compiler knows it, else the text from which the driver makes that.
    pub fn architecture(&self, capability: (u32, u32)) -> String {
        let wanted = capability.0 * 10 + capability.1;
        match self.architectures.iter().filter(|&&known| known <= wanted).max() {
            Some(&known) if known == wanted => format!("sm_{known}"),
            Some(known) => format!("compute_{known}"),
            None => format!("compute_{wanted}"),
        }
    }

    /// The code of a text for an architecture, `sm_90` or `compute_90`.
    ///
    /// # Errors
    /// [`Error::Kernel`] with what the compiler says.
    pub fn compile(&self, op: &'static str, text: &str, architecture: &str) -> Result<Vec<u8>> {
        let failed = |what: &str| Error::Kernel { op: op.into(), message: format!("NVRTC for {architecture}: {what}") };
        let text = CString::new(text).map_err(|error| failed(&error.to_string()))?;
        // Operations are rounded one by one, as on the CPU.
        let options = [format!("--gpu-architecture={architecture}"), "--fmad=false".to_owned()];
        let options: Vec<CString> = options.into_iter().filter_map(|option| CString::new(option).ok()).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let (functions, mut program) = (&self.functions, ptr::null_mut());
        // SAFETY: the texts end in zeros and live until the program is compiled.
        unsafe {
            if (functions.create)(&mut program, text.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null()) != 0 {
                return Err(failed("no program"));
            }
            let unit = Unit(functions, program);
            if (functions.compile)(program, options.len() as c_int, options.as_ptr()) != 0 {
                let log = unit.bytes(functions.log_size, functions.log);
                return Err(failed(String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n'])));
            }
            Ok(match architecture.starts_with("sm_") {
                true => unit.bytes(functions.code_size, functions.code),
                false => unit.bytes(functions.text_size, functions.text),
            })
        }
    }
}
