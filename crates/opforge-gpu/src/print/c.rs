//! Kernels in C: one thread does it all.

use std::fmt::Write;

use opforge_core::{DType, Result};
use opforge_trace::{C_PRELUDE, Function, Op, c_operation, c_type};

use super::body;
use super::language::Language;
use crate::kernel::{Buffer, Kernel, LANES, Source};

/// What kernels call, before all of them: what expressions do, and halves.
pub fn c_prelude() -> String {
    format!("{C_PRELUDE}\n{}\n{}", include_str!("halves.h"), include_str!("c_fail.h"))
}

/// The kernel as a C function `void name(void *const *buffers, const uint32_t *parameters, uint32_t *status)`, which runs all of it on the thread that calls
/// it. `status` begins with 0 and tells the number of a fault and the two halves of what was found. Intrinsics are declared as pointers to functions of
/// doubles, `opforge_` before their names; see [`intrinsics`](Kernel::intrinsics).
pub fn c(kernel: &Kernel, name: &str) -> String {
    let mut c = format!("void {name}(void *const *b, const uint32_t *p, uint32_t *status) {{\n");
    for (i, buffer) in kernel.buffers.iter().enumerate() {
        let (access, ty) = (if buffer.written { "" } else { "const " }, stored(buffer.dtype));
        let _ = writeln!(c, "    {access}{ty} *b{i} = ({access}{ty} *)b[{i}];");
    }
    for (i, shared) in kernel.shared.iter().enumerate() {
        let _ = writeln!(c, "    {} s{i}[{}];", c_type(shared.dtype), shared.len);
    }
    for (i, variable) in kernel.variables.iter().enumerate().filter(|(_, variable)| variable.of_lanes) {
        let _ = writeln!(c, "    {} v{i}[{LANES}];", c_type(variable.dtype));
    }
    // C has every operation.
    c + &body(kernel, &C).unwrap_or_default() + "}\n"
}

impl Kernel {
    /// The functions that it calls by name.
    pub fn intrinsics(&self) -> impl Iterator<Item = (&'static str, Function)> {
        self.values.iter().filter_map(|node| match node.source {
            Source::Compute(Op::Call(name, function)) => Some((name, function)),
            _ => None,
        })
    }
}

/// What elements are in memory.
pub(super) fn stored(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 | DType::BF16 => "uint16_t",
        dtype => c_type(dtype),
    }
}

/// An element as it is computed in.
pub(super) fn widened(dtype: DType, element: String) -> String {
    match dtype {
        DType::F16 => format!("f32_of_f16({element})"),
        DType::BF16 => format!("f32_of_bf16({element})"),
        _ => element,
    }
}

/// A value as it is stored.
pub(super) fn narrowed(dtype: DType, value: &str) -> String {
    match dtype {
        DType::F16 => format!("f16_of_f32({value})"),
        DType::BF16 => format!("bf16_of_f32({value})"),
        _ => value.to_owned(),
    }
}

/// The head of a loop, in C and CUDA.
pub(super) fn counted(index: &str, first: Option<&str>, count: &str, step: Option<&str>) -> String {
    let (first, step) =
        (first.unwrap_or("0"), step.map_or_else(|| format!("++{index}"), |step| format!("{index} += {step}")));
    format!("for (uint32_t {index} = {first}; {index} < {count}; {step})")
}

struct C;

impl Language for C {
    fn constant(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("const {} {name} = {value};", c_type(dtype))
    }
    fn declaration(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("{} {name} = {value};", c_type(dtype))
    }
    fn operation(&self, op: &Op, dtype: DType, of: DType, operands: &[&str]) -> Result<String> {
        Ok(c_operation(op, dtype, of, operands))
    }
    fn load(&self, number: usize, buffer: &Buffer, index: &str) -> Result<String> {
        Ok(widened(buffer.dtype, format!("b{number}[{index}]")))
    }
    fn store(&self, number: usize, buffer: &Buffer, index: &str, value: &str) -> Result<String> {
        Ok(format!("b{number}[{index}] = {};", narrowed(buffer.dtype, value)))
    }
    fn fail(&self, condition: &str, fault: u32, found: &str, _: DType) -> String {
        format!("if ({condition}) fail(status, {fault}u, (int64_t){found});")
    }
    fn parameter(&self, number: usize) -> String {
        format!("p[{number}]")
    }
    fn variable(&self, number: usize, lane: Option<String>) -> String {
        lane.map_or_else(|| format!("v{number}"), |lane| format!("v{number}[{lane}]"))
    }
    fn counted(&self, index: &str, first: Option<&str>, count: &str, step: Option<&str>) -> String {
        counted(index, first, count, step)
    }
    fn forever(&self) -> &'static str {
        "for (;;)"
    }
    fn exchange(&self, [to, from]: [usize; 2], _: DType, apart: usize) -> String {
        let every = counted("lane", None, &format!("{LANES}u"), None);
        format!("{every} v{to}[lane] = v{from}[lane ^ {apart}u];")
    }
}
