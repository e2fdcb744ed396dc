//! Kernels in CUDA C, for NVRTC.

use std::collections::BTreeMap;
use std::fmt::Write;

use opforge_core::{DType, Error, Result};
use opforge_trace::{C_PRELUDE, Op, c_operation, c_type};

use super::body;
use super::c::{counted, narrowed, stored, widened};
use super::language::Language;
use crate::kernel::{Buffer, Kernel, LANES};

/// What kernels call: no headers, which NVRTC does not need.
pub fn cuda_prelude() -> String {
    let own = C_PRELUDE.lines().filter(|line| !line.starts_with("#include")).collect::<Vec<_>>().join("\n");
    let [first, halves, fail, packs] =
        [include_str!("cuda.h"), include_str!("halves.h"), include_str!("cuda_fail.h"), include_str!("packs.h")];
    format!("{first}\n{own}\n{halves}\n{fail}\n{packs}")
}

/// The kernel as `extern "C" __global__ void kernel`: its arguments are the buffers, a struct of 32-bit parameters, and, where it [can fail](Kernel::can_fail),
/// three words of status. Blocks have [`LANES`] threads; any number of them does it all. [`cuda_prelude`] stands before it; it is compiled with
/// `--fmad=false`, since additions and products are rounded one by one. `op` and `device` are for errors.
///
/// # Errors
/// [`Error::Device`] for functions that CUDA lacks.
pub fn cuda(kernel: &Kernel, op: &'static str, device: &'static str) -> Result<String> {
    let (mut arguments, mut names) = (Vec::new(), Vec::new());
    for (i, buffer) in kernel.buffers.iter().enumerate() {
        arguments.push(format!("{}{} *b{i}", if buffer.written { "" } else { "const " }, stored(buffer.dtype)));
        names.push(format!("b{i}"));
    }
    if kernel.parameters > 0 {
        arguments.push("const Parameters p".to_owned());
        names.push("p".to_owned());
    }
    if kernel.can_fail() {
        arguments.push("uint32_t *status".to_owned());
        names.push("status".to_owned());
    }
    let mut text = String::new();
    if kernel.parameters > 0 {
        let _ = writeln!(text, "struct Parameters {{ uint32_t of[{}]; }};\n", kernel.parameters);
    }
    let packed = kernel.packed();
    let head = format!("extern \"C\" __global__ void __launch_bounds__({LANES}) kernel({}) {{\n", arguments.join(", "));
    let shared = kernel.shared.iter().enumerate().map(|(i, shared)| (i, c_type(shared.dtype), shared.len));
    let arrays: String = shared.clone().map(|(i, ty, len)| format!("    __shared__ {ty} s{i}[{len}];\n")).collect();
    if packed.is_empty() {
        text += &format!("{head}{arrays}");
    } else {
        // Both bodies have the same arrays, which would be two if they declared them.
        arguments.extend(shared.clone().map(|(i, ty, _)| format!("{ty} *s{i}")));
        names.extend(shared.map(|(i, ..)| format!("s{i}")));
        text += &format!("template <bool ALIGNED>\nstatic inline void body({}) {{\n", arguments.join(", "));
    }
    for (i, variable) in kernel.variables.iter().enumerate().filter(|(_, variable)| variable.of_lanes) {
        let _ = writeln!(text, "    {} v{i};", c_type(variable.dtype));
    }
    text += &body(kernel, &Cuda { op, device })?;
    text += "}\n";
    if !packed.is_empty() {
        text += &format!("\n{head}{arrays}{}}}\n", choice(&packed, &names.join(", ")));
    }
    Ok(text)
}

/// One of the two bodies of a kernel of packs: whether buffers begin where packs may is asked once, since loads on a condition of their own would each need
/// registers for either way.
fn choice(packed: &BTreeMap<usize, usize>, names: &str) -> String {
    let aligned: Vec<String> = packed.iter().map(|(i, width)| format!("is_aligned<{width}>(b{i})")).collect();
    format!("    if ({}) body<true>({names});\n    else body<false>({names});\n", aligned.join(" && "))
}

struct Cuda {
    op: &'static str,
    device: &'static str,
}

/// CUDA's own function of f64 for an intrinsic.
fn intrinsic(name: &str) -> Option<&'static str> {
    Some(match name {
        "fmod" => "fmod",
        "sin" => "sin",
        "cos" => "cos",
        "pow" => "pow",
        _ => return None,
    })
}

impl Language for Cuda {
    fn constant(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("const {} {name} = {value};", c_type(dtype))
    }
    fn declaration(&self, dtype: DType, name: &str, value: &str) -> String {
        format!("{} {name} = {value};", c_type(dtype))
    }
    fn operation(&self, op: &Op, dtype: DType, of: DType, operands: &[&str]) -> Result<String> {
        if *op == Op::Quotient {
            return Ok(format!("__fdividef({}, {})", operands[0], operands[1]));
        }
        let Op::Call(name, _) = op else {
            let text = c_operation(op, dtype, of, operands);
            // CUDA's infinities and NaN are of single precision, which overloaded functions tell from double.
            let is_single = matches!(op, Op::Constant(_)) && dtype == DType::F64 && text.contains(['N', 'I']);
            return Ok(if is_single { format!("(double)({text})") } else { text });
        };
        let lacks = || Error::device(self.op, "function", *name, format!("functions that CUDA has on {}", self.device));
        Ok(format!("{}({})", intrinsic(name).ok_or_else(lacks)?, operands.join(", ")))
    }
    fn load(&self, number: usize, buffer: &Buffer, index: &str) -> Result<String> {
        Ok(widened(buffer.dtype, format!("b{number}[{index}]")))
    }
    fn store(&self, number: usize, buffer: &Buffer, index: &str, value: &str) -> Result<String> {
        Ok(format!("b{number}[{index}] = {};", narrowed(buffer.dtype, value)))
    }
    fn load_pack(
        &self,
        number: usize,
        buffer: &Buffer,
        index: &str,
        dtype: DType,
        names: &[String],
    ) -> Result<Vec<String>> {
        let (ty, width, pack) = (stored(buffer.dtype), names.len(), format!("q{}", &names[0][1..]));
        let whole = format!("const Pack<{ty}, {width}> {pack} = loaded<{width}, ALIGNED>(b{number} + {index});");
        let part =
            |(i, name): (usize, &String)| self.constant(dtype, name, &widened(buffer.dtype, format!("{pack}.of[{i}]")));
        Ok([whole].into_iter().chain(names.iter().enumerate().map(part)).collect())
    }
    fn store_pack(&self, number: usize, buffer: &Buffer, index: &str, names: &[String]) -> Result<Vec<String>> {
        let parts = names.iter().map(|name| narrowed(buffer.dtype, name)).collect::<Vec<_>>().join(", ");
        Ok(vec![format!(
            "store<ALIGNED>(b{number} + {index}, Pack<{}, {}>{{{{{parts}}}}});",
            stored(buffer.dtype),
            names.len()
        )])
    }
    fn fail(&self, condition: &str, fault: u32, found: &str, _: DType) -> String {
        format!("if ({condition}) fail(status, {fault}u, (int64_t){found});")
    }
    fn parameter(&self, number: usize) -> String {
        format!("p.of[{number}]")
    }
    fn variable(&self, number: usize, _: Option<String>) -> String {
        format!("v{number}")
    }
    fn counted(&self, index: &str, first: Option<&str>, count: &str, step: Option<&str>) -> String {
        counted(index, first, count, step)
    }
    fn forever(&self) -> &'static str {
        "for (;;)"
    }
    fn thread(&self) -> Option<&'static str> {
        Some("blockIdx.x * blockDim.x + threadIdx.x")
    }
    fn threads(&self) -> Option<&'static str> {
        Some("gridDim.x * blockDim.x")
    }
    fn group(&self) -> Option<&'static str> {
        Some("blockIdx.x")
    }
    fn groups(&self) -> Option<&'static str> {
        Some("gridDim.x")
    }
    fn lane(&self) -> Option<&'static str> {
        Some("threadIdx.x")
    }
    fn exchange(&self, [to, from]: [usize; 2], _: DType, apart: usize) -> String {
        format!("v{to} = __shfl_xor_sync(0xffffffffu, v{from}, {apart});")
    }
    fn barrier(&self) -> &'static str {
        "__syncthreads();"
    }
}
