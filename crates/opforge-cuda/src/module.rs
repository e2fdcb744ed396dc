//! Compiled kernels.

use std::ptr;
use std::sync::Arc;

use opforge_core::Result;
use opforge_gpu::{Kernel, print};

use crate::backend::Cuda;
use crate::cache;
use crate::compiler::Compiler;
use crate::driver::Handle;

/// A kernel that the driver has loaded. It is never unloaded: the backend keeps it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function(pub Handle);

// SAFETY: the driver takes its handles from any thread.
unsafe impl Send for Function {}
// SAFETY: and from several at a time.
unsafe impl Sync for Function {}

impl Cuda {
    /// The compiled kernel, from before where an equal one was compiled.
    pub(crate) fn function(&self, op: &'static str, kernel: &Arc<Kernel>) -> Result<Function> {
        if let Some(&function) = self.compiled().get(kernel) {
            return Ok(function);
        }
        // Others may compile meanwhile: what two have compiled is loaded twice, and the last one is kept.
        let function = self.load(op, &print::cuda(kernel, op, self.gpu.name)?)?;
        self.compiled().insert(kernel.clone(), function);
        Ok(function)
    }

    /// The function `kernel` of a text in CUDA C, before which the prelude of printed kernels stands.
    pub(crate) fn function_of(&self, op: &'static str, text: Arc<str>) -> Result<Function> {
        if let Some(&function) = self.texts().get(&text) {
            return Ok(function);
        }
        let function = self.load(op, &text)?;
        self.texts().insert(text, function);
        Ok(function)
    }

    fn load(&self, op: &'static str, text: &str) -> Result<Function> {
        let compiler = Compiler::get()?;
        let architecture = compiler.architecture(self.gpu.properties.capability);
        let source = format!("{}\n{text}", print::cuda_prelude());
        let version = format!("{:?}", compiler.version);
        let mut code =
            cache::kept(&[&source, &architecture, &version], || compiler.compile(op, &source, &architecture))?;
        // Texts end in a zero for the driver; machine code knows its length.
        code.push(0);
        self.gpu.enter(op)?;
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        let driver = self.gpu.driver;
        // SAFETY: the code is the compiler's, whole; the name is a C string; handles are written.
        unsafe {
            self.gpu.checked(op, (driver.module_load)(&mut module, code.as_ptr().cast()))?;
            self.gpu.checked(op, (driver.module_function)(&mut function, module, c"kernel".as_ptr()))?;
        }
        Ok(Function(function))
    }
}
