//! Expressions as a library: printed, compiled by the host's C++ compiler, loaded.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write;
use std::process::Command;

use opforge::DType;
use opforge_trace::{C_PRELUDE, Expression, Function, Reduction};

use super::numbers::Buffer;

/// C functions to be compiled; equal ones once.
#[derive(Default)]
pub struct Source {
    text: String,
    numbers: HashMap<String, usize>,
    intrinsics: HashMap<&'static str, Function>,
}

/// The loop over one function: arguments, then results, are arrays of `n` elements.
type Loop = unsafe extern "C" fn(*const *const c_void, usize);

impl Source {
    /// The number of the function that the expression becomes.
    pub fn add(&mut self, expression: &Expression) -> usize {
        let next = self.numbers.len();
        let function = expression.to_c("f");
        if let Some(&number) = self.numbers.get(&function) {
            return number;
        }
        self.numbers.insert(function, next);
        for (name, function) in expression.intrinsics() {
            if self.intrinsics.insert(name, function).is_none() {
                let arguments = if matches!(function, Function::Of1(_)) { "double" } else { "double, double" };
                let _ = writeln!(self.text, "extern \"C\" {{ double (*opforge_{name})({arguments}); }}");
            }
        }
        self.text += "static ";
        self.text += &expression.to_c(&format!("f{next}"));
        self.text += &loop_over(expression, next);
        next
    }

    /// The number of the loop that a reduction becomes: over `n` elements, to one result.
    pub fn add_fold(&mut self, fold: &Reduction) -> usize {
        let next = self.numbers.len();
        let parts = [&fold.identity, &fold.before, &fold.combine, &fold.after];
        let text: String = parts.iter().map(|part| part.to_c("f")).collect();
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        self.numbers.insert(text, next);
        for (part, name) in parts.iter().zip(["identity", "before", "combine", "after"]) {
            self.text += "static ";
            self.text += &part.to_c(&format!("{name}{next}"));
        }
        let [acc, x, y] = [result(&fold.combine), c_type(fold.before.inputs()[0]), result(&fold.after)];
        let _ = writeln!(
            self.text,
            "extern \"C\" void loop_{next}(const void *const *arrays, size_t n) {{\n    {acc} acc = identity{next}();\n    \
             for (size_t i = 0; i < n; ++i) acc = combine{next}(acc, before{next}(((const {x} *)arrays[0])[i]));\n    \
             *({y} *)arrays[1] = after{next}(acc);\n}}\n"
        );
        next
    }

    /// Compiles and loads all functions.
    pub fn build(self) -> Library {
        let folder = tempfile::tempdir().unwrap();
        let [source, library] = ["tiles.cc", "tiles.so"].map(|name| folder.path().join(name));
        std::fs::write(&source, format!("{C_PRELUDE}\n{}", self.text)).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let arguments = ["-O0", "-ffp-contract=off", "-shared", "-fPIC", "-o"];
        let run = Command::new(&compiler).args(arguments).arg(&library).arg(&source).output();
        let output = run.unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(output.status.success(), "{compiler}:\n{}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library was just made of straight-line functions; loading it runs nothing.
        let library = unsafe { libloading::Library::new(&library) }.unwrap();
        for (name, function) in &self.intrinsics {
            let address = match function {
                Function::Of1(function) => *function as *const c_void,
                Function::Of2(function) => *function as *const c_void,
            };
            // SAFETY: the library declares a pointer to such a function by that name.
            unsafe { **library.get::<*mut *const c_void>(format!("opforge_{name}").as_bytes()).unwrap() = address };
        }
        Library { library, _folder: folder }
    }
}

/// `loop_<number>`: reads arguments and writes results of all elements.
fn loop_over(expression: &Expression, number: usize) -> String {
    let types: Vec<&str> = expression.inputs().iter().map(|&dtype| c_type(dtype)).collect();
    let read = |k: usize| format!("((const {} *)arrays[{k}])[i]", types[k]);
    let mut arguments: Vec<String> = (0..types.len()).map(read).collect();
    let outputs = expression.results().iter().copied().chain(expression.failure());
    let written: Vec<String> = outputs
        .enumerate()
        .map(|(k, id)| format!("(({} *)arrays[{}])", c_type(expression.node(id).dtype), types.len() + k))
        .collect();
    let body = if let ([array], None) = (&written[..], expression.failure()) {
        format!("{array}[i] = f{number}({});", arguments.join(", "))
    } else {
        arguments.extend(written.iter().map(|array| format!("{array} + i")));
        format!("f{number}({});", arguments.join(", "))
    };
    format!(
        "extern \"C\" void loop_{number}(const void *const *arrays, size_t n) {{\n    for (size_t i = 0; i < n; ++i) {body}\n}}\n\n"
    )
}

/// The compiled functions.
pub struct Library {
    library: libloading::Library,
    _folder: tempfile::TempDir,
}

impl Library {
    /// The results of a function, and where it has none.
    pub fn call(&self, number: usize, expression: &Expression, inputs: &[Buffer]) -> (Vec<Buffer>, Vec<bool>) {
        let n = inputs[0].len();
        let given: Vec<DType> = inputs.iter().map(Buffer::dtype).collect();
        assert_eq!(given, expression.inputs());
        let results = expression.results().iter().map(|&id| expression.node(id).dtype);
        let mut results: Vec<Buffer> = results.map(|dtype| Buffer::zeros(dtype, n)).collect();
        let mut failed = Buffer::zeros(DType::Bool, n);
        let arrays: Vec<*const c_void> = inputs
            .iter()
            .map(|buffer| buffer.as_ptr().cast())
            .chain(results.iter_mut().map(|buffer| buffer.as_mut_ptr().cast_const().cast()))
            .chain([failed.as_mut_ptr().cast_const().cast()])
            .collect();
        // SAFETY: the function is a `Loop` over arrays of these dtypes, each of n elements.
        unsafe {
            let function = self.library.get::<Loop>(format!("loop_{number}").as_bytes()).unwrap();
            function(arrays.as_ptr(), n);
        }
        let failed = failed.bytes().iter().map(|&byte| byte != 0).collect();
        (results, failed)
    }

    /// The one result of a fold's loop.
    pub fn fold(&self, number: usize, fold: &Reduction, input: &Buffer) -> Buffer {
        assert_eq!([input.dtype()], fold.before.inputs());
        let mut output = Buffer::zeros(fold.after.node(fold.after.results()[0]).dtype, 1);
        let arrays: [*const c_void; 2] = [input.as_ptr().cast(), output.as_mut_ptr().cast_const().cast()];
        // SAFETY: the function is a `Loop` over an array of this dtype with `len` elements, and writes one of the result's.
        unsafe {
            let function = self.library.get::<Loop>(format!("loop_{number}").as_bytes()).unwrap();
            function(arrays.as_ptr(), input.len());
        }
        output
    }
}

/// The type of an expression's only result.
fn result(expression: &Expression) -> &'static str {
    c_type(expression.node(expression.results()[0]).dtype)
}

fn c_type(dtype: DType) -> &'static str {
    let names = HashMap::from([
        (DType::Bool, "bool"),
        (DType::U8, "uint8_t"),
        (DType::U16, "uint16_t"),
        (DType::U32, "uint32_t"),
        (DType::U64, "uint64_t"),
        (DType::I8, "int8_t"),
        (DType::I16, "int16_t"),
        (DType::I32, "int32_t"),
        (DType::I64, "int64_t"),
        (DType::F32, "float"),
        (DType::F64, "double"),
    ]);
    names[&dtype]
}
