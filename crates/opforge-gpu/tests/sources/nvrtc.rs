//! NVRTC, opened while the test runs.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

use libloading::Library;

/// The compiler.
pub struct Nvrtc(Library);

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

/// Where the library may be: where `OPFORGE_NVRTC_PATH` says, where the linker looks, in the virtual environment's packages.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::var_os("OPFORGE_NVRTC_PATH").map(PathBuf::from).into_iter().collect();
    places.push("libnvrtc.so.12".into());
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib");
    let versions = std::fs::read_dir(root).into_iter().flatten().flatten();
    places.extend(versions.map(|version| version.path().join("site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")));
    places
}

impl Nvrtc {
    /// The first that is found, or why there is none.
    pub fn load() -> Result<Nvrtc, String> {
        let mut missing = String::new();
        for place in places() {
            // SAFETY: NVRTC's initialisers run, which do nothing but prepare it.
            match unsafe { Library::new(&place) } {
                Ok(library) => return Ok(Nvrtc(library)),
                Err(error) => missing = error.to_string(),
            }
        }
        Err(missing)
    }

    /// The size of the machine code for an architecture, or what the compiler says.
    pub fn compile(&self, source: &str, architecture: &str) -> Result<usize, String> {
        let text = CString::new(source).map_err(|error| error.to_string())?;
        let options = [format!("--gpu-architecture={architecture}"), "--fmad=false".to_owned()];
        let options: Vec<CString> = options.into_iter().map(|option| CString::new(option).expect("no zeros")).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let lacks = |error: libloading::Error| error.to_string();
        // SAFETY: the functions have these signatures since CUDA 11; the program is created before and destroyed after all of them, and what is
        // written has the size that was asked for.
        unsafe {
            let create = self.0.get::<Create>(b"nvrtcCreateProgram").map_err(lacks)?;
            let run = self.0.get::<Compile>(b"nvrtcCompileProgram").map_err(lacks)?;
            let log_size = self.0.get::<Size>(b"nvrtcGetProgramLogSize").map_err(lacks)?;
            let log = self.0.get::<Text>(b"nvrtcGetProgramLog").map_err(lacks)?;
            let code_size = self.0.get::<Size>(b"nvrtcGetCUBINSize").map_err(lacks)?;
            let destroy = self.0.get::<Destroy>(b"nvrtcDestroyProgram").map_err(lacks)?;
            let (mut program, mut size) = (ptr::null_mut(), 0);
            if create(&mut program, text.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null()) != 0 {
                return Err("no program".to_owned());
            }
            let result = if run(program, options.len() as c_int, options.as_ptr()) == 0 {
                code_size(program, &mut size);
                Ok(size)
            } else {
                log_size(program, &mut size);
                let mut bytes = vec![0u8; size + 1];
                log(program, bytes.as_mut_ptr().cast());
                Err(String::from_utf8_lossy(&bytes[..size.min(4000)]).into_owned())
            };
            destroy(&mut program);
            result
        }
    }
}
