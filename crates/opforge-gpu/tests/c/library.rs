//! Kernels as a library: printed, compiled by the host's C compiler, loaded.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write;
use std::process::{Child, Command};

use opforge_gpu::{Kernel, print};
use opforge_trace::Function;

/// Kernels to be compiled; equal ones once.
#[derive(Default)]
pub struct Source {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
    intrinsics: HashMap<&'static str, Function>,
}

/// A kernel's function: buffers, parameters, status.
type Run = unsafe extern "C" fn(*const *mut u8, *const u32, *mut u32);

/// How many compilers run at a time.
const PARTS: usize = 2;

impl Source {
    /// The number of the function that the kernel becomes.
    pub fn add(&mut self, kernel: &Kernel) -> usize {
        let (next, text) = (self.texts.len(), print::c(kernel, "f"));
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        self.numbers.insert(text, next);
        self.intrinsics.extend(kernel.intrinsics());
        self.texts.push(print::c(kernel, &format!("kernel_{next}")));
        next
    }

    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// Compiles and loads all of them.
    pub fn build(self) -> Library {
        let folder = tempfile::tempdir().expect("a folder");
        let mut declared = String::new();
        for (name, function) in &self.intrinsics {
            let arguments = if matches!(function, Function::Of1(_)) { "double" } else { "double, double" };
            let _ = writeln!(declared, "double (*opforge_{name})({arguments});");
        }
        let path = |i: usize| folder.path().join(format!("kernels{i}.so"));
        let compile = |i: usize| -> Child {
            let kernels: Vec<&str> = self.texts.iter().skip(i).step_by(PARTS).map(String::as_str).collect();
            let source = path(i).with_extension("c");
            std::fs::write(&source, format!("{}\n{declared}\n{}", print::c_prelude(), kernels.join("\n")))
                .expect("a file");
            let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
            // To optimise the kernels takes longer than to run them.
            let arguments = ["-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-o"];
            let run = Command::new(&compiler).args(arguments).arg(path(i)).arg(&source).arg("-lm").spawn();
            run.unwrap_or_else(|error| panic!("{compiler}: {error}"))
        };
        for mut compiler in (0..PARTS).map(compile).collect::<Vec<_>>() {
            assert!(compiler.wait().expect("a compiler").success(), "what was printed is no C");
        }
        let parts = (0..PARTS).map(|i| {
            // SAFETY: the library was just made of functions only; loading it runs nothing.
            let library = unsafe { libloading::Library::new(path(i)) }.expect("a library");
            for (name, function) in &self.intrinsics {
                let address = match function {
                    Function::Of1(function) => *function as *const c_void,
                    Function::Of2(function) => *function as *const c_void,
                };
                // SAFETY: the library declares a pointer to such a function by that name.
                unsafe {
                    **library.get::<*mut *const c_void>(format!("opforge_{name}").as_bytes()).expect("a pointer") =
                        address
                };
            }
            library
        });
        Library { parts: parts.collect(), _folder: folder }
    }
}

/// The compiled kernels.
pub struct Library {
    parts: Vec<libloading::Library>,
    _folder: tempfile::TempDir,
}

impl Library {
    /// Runs a kernel and gives its status.
    pub fn launch(&self, number: usize, buffers: &[*mut u8], parameters: &[u32]) -> [u32; 3] {
        let mut status = [0; 3];
        // SAFETY: the function is a `Run`; buffers and parameters are those of a launch of its kernel, and hold what its tensors' metas say.
        unsafe {
            let run = self.parts[number % PARTS].get::<Run>(format!("kernel_{number}").as_bytes()).expect("a kernel");
            run(buffers.as_ptr(), parameters.as_ptr(), status.as_mut_ptr());
        }
        status
    }
}
