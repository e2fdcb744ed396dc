//! Kernels in WGSL. Elements of 8 and 16 bits lie in words of 32, which are changed bit by bit.

use std::fmt::Write;

use opforge_core::{DType, Result};
use opforge_trace::Op;

use super::body;
use super::language::Language;
use super::wgsl_helpers::Helpers;
use super::wgsl_memory::{element_type, is_packed, load, store};
use super::wgsl_operations::{operation, ty};
use crate::kernel::{Buffer, Kernel, LANES};

/// The binding of the status, in the same group as the buffers.
pub const STATUS_BINDING: u32 = 31;

/// The kernel as a WGSL module with the entry point `main`: in group 0 the buffers, each as a whole, by their numbers, and the status, three words, where it
/// [can fail](Kernel::can_fail); in group 1 a uniform buffer of words, four a vector: for each buffer the element that counts as its first, then the
/// parameters, then 0. Groups have [`LANES`] threads; they may be in rows (y) of any length. `op` and `device` are for errors.
///
/// All buffers are writable: one may be bound twice, as an input and as an output.
///
/// # Errors
/// [`Error::Device`](opforge_core::Error::Device) for functions that WGSL lacks.
pub fn wgsl(kernel: &Kernel, op: &'static str, device: &'static str) -> Result<String> {
    let language = Wgsl {
        call: (op, device),
        buffers: kernel.buffers.len(),
        zero: kernel.buffers.len() + kernel.parameters,
        helpers: Helpers::default(),
    };
    let body = body(kernel, &language)?;
    let mut text = String::new();
    for (i, buffer) in kernel.buffers.iter().enumerate() {
        let ty = element_type(buffer);
        let _ = writeln!(text, "@group(0) @binding({i}) var<storage, read_write> b{i}: array<{ty}>;");
    }
    if kernel.can_fail() {
        let of = "var<storage, read_write> status: array<atomic<u32>>";
        let _ = writeln!(text, "@group(0) @binding({STATUS_BINDING}) {of};");
    }
    let vectors = (kernel.buffers.len() + kernel.parameters + 1).div_ceil(4);
    let _ = writeln!(text, "@group(1) @binding(0) var<uniform> p: array<vec4<u32>, {vectors}>;");
    for (i, shared) in kernel.shared.iter().enumerate() {
        let _ = writeln!(text, "var<workgroup> s{i}: array<{}, {}>;", ty(shared.dtype), shared.len);
    }
    text += &language.helpers.definitions();
    let _ = writeln!(
        text,
        "\n@compute @workgroup_size({LANES})\nfn main(@builtin(workgroup_id) at: vec3<u32>, @builtin(num_workgroups) all: vec3<u32>, \
         @builtin(local_invocation_index) lane: u32) {{\n    let group = at.y * all.x + at.x;\n    let groups = all.x * all.y;\n    \
         let thread = group * {LANES}u + lane;\n    let threads = groups * {LANES}u;"
    );
    for (i, variable) in kernel.variables.iter().enumerate().filter(|(_, variable)| variable.of_lanes) {
        let _ = writeln!(text, "    var v{i}: {};", ty(variable.dtype));
    }
    Ok(text + &body + "}\n")
}

struct Wgsl {
    /// The operator, and the device, for errors.
    call: (&'static str, &'static str),
    buffers: usize,
    /// The word that is always 0, which compilers do not know.
    zero: usize,
    helpers: Helpers,
}

/// A word of the uniform buffer.
fn word(number: usize) -> String {
    format!("p[{}].{}", number / 4, ["x", "y", "z", "w"][number % 4])
}

impl Language for Wgsl {
    fn constant(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("let {name}: {} = {value};", ty(dtype))
    }
    fn declaration(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("var {name}: {} = {value};", ty(dtype))
    }
    fn operation(&self, op: &Op, dtype: DType, of: DType, operands: &[&str]) -> Result<String> {
        operation(&self.helpers, self.call, op, dtype, of, operands)
    }
    fn high_product(&self, a: &str, b: &str) -> String {
        self.helpers.call("high_product", &[a, b])
    }
    fn kept(&self, dtype: DType, value: &str) -> String {
        let (zero, name) = (word(self.zero), if dtype == DType::F64 { "kept_f64" } else { "kept_f32" });
        self.helpers.call(name, &[value, &zero])
    }
    fn rounded(&self, dtype: DType, value: &str) -> String {
        let [narrow, wide] =
            if dtype == DType::F16 { ["f16_of_f32", "f32_of_f16"] } else { ["bf16_of_f32", "f32_of_bf16"] };
        self.helpers.call(wide, &[&self.helpers.call(narrow, &[value])])
    }
    fn load(&self, number: usize, buffer: &Buffer, index: &str) -> Result<String> {
        Ok(load(&self.helpers, number, buffer, &format!("{index} + {}", word(number))))
    }
    fn store(&self, number: usize, buffer: &Buffer, index: &str, value: &str) -> Result<String> {
        let index = format!("{index} + {}", word(number));
        debug_assert!(buffer.written || !is_packed(buffer.dtype));
        Ok(store(&self.helpers, number, buffer, &index, value))
    }
    fn fail(&self, condition: &str, fault: u32, found: &str, dtype: DType) -> String {
        let halves = match dtype {
            DType::I64 | DType::U64 => [format!("u32({found})"), format!("u32(u64({found}) >> 32u)")],
            DType::I32 => [format!("u32({found})"), format!("u32({found} >> 31u)")],
            _ => [found.to_owned(), "0u".to_owned()],
        };
        let [low, high] = halves;
        format!(
            "if ({condition}) {{ if (atomicMax(&status[0], {fault}u) == 0u) {{ atomicStore(&status[1], {low}); atomicStore(&status[2], {high}); }} }}"
        )
    }
    fn parameter(&self, number: usize) -> String {
        word(self.buffers + number)
    }
    fn number(&self, dtype: DType, first: usize) -> String {
        format!("bitcast<{}>({})", ty(dtype), self.parameter(first))
    }
    fn variable(&self, number: usize, _: Option<String>) -> String {
        format!("v{number}")
    }
    fn counted(&self, index: &str, first: Option<&str>, count: &str, step: Option<&str>) -> String {
        let (first, step) = (first.unwrap_or("0u"), step.unwrap_or("1u"));
        format!("for (var {index}: u32 = {first}; {index} < {count}; {index} += {step})")
    }
    fn forever(&self) -> &'static str {
        "loop"
    }
    fn thread(&self) -> Option<&'static str> {
        Some("thread")
    }
    fn threads(&self) -> Option<&'static str> {
        Some("threads")
    }
    fn group(&self) -> Option<&'static str> {
        Some("group")
    }
    fn groups(&self) -> Option<&'static str> {
        Some("groups")
    }
    fn lane(&self) -> Option<&'static str> {
        Some("lane")
    }
    fn exchange(&self, [to, from]: [usize; 2], dtype: DType, apart: usize) -> String {
        let name = format!("exchanged_{}", ty(dtype));
        format!("v{to} = {};", self.helpers.call(&name, &["lane", &format!("v{from}"), &format!("{apart}u")]))
    }
    fn barrier(&self) -> &'static str {
        "storageBarrier(); workgroupBarrier();"
    }
}
