//! Elements of buffers in WGSL.

use opforge_core::DType;

use super::wgsl_helpers::Helpers;
use super::wgsl_operations::{narrow, ty};
use crate::kernel::Buffer;

/// Whether several elements lie in a word.
pub(super) fn is_packed(dtype: DType) -> bool {
    dtype.size_in_bytes() < 4
}

/// What a buffer is an array of.
pub(super) fn element_type(buffer: &Buffer) -> &'static str {
    match is_packed(buffer.dtype) {
        // Neighbours may be written by other threads.
        true if buffer.written => "atomic<u32>",
        true => "u32",
        false => ty(buffer.dtype),
    }
}

/// An element, widened.
pub(super) fn load(helpers: &Helpers, number: usize, buffer: &Buffer, index: &str) -> String {
    if !is_packed(buffer.dtype) {
        return format!("b{number}[{index}]");
    }
    let (shift, mask, bits) = if buffer.dtype.size_in_bytes() == 1 { (2, 3, 8) } else { (1, 1, 16) };
    let word = format!("b{number}[({index}) >> {shift}u]");
    let word = if buffer.written { format!("atomicLoad(&{word})") } else { word };
    let element = format!("(({word} >> ((({index}) & {mask}u) * {bits}u)) & {}u)", (1u32 << bits) - 1);
    match buffer.dtype {
        DType::Bool => format!("{element} != 0u"),
        DType::F16 | DType::BF16 => helpers.call(&format!("f32_of_{}", buffer.dtype), &[&element]),
        DType::I8 | DType::I16 => narrow(buffer.dtype, &format!("i32{element}")),
        _ => element,
    }
}

/// The statement that writes an element, rounded.
pub(super) fn store(helpers: &Helpers, number: usize, buffer: &Buffer, index: &str, value: &str) -> String {
    if !is_packed(buffer.dtype) {
        return format!("b{number}[{index}] = {value};");
    }
    let (shift, mask, bits) = if buffer.dtype.size_in_bytes() == 1 { (2, 3, 8) } else { (1, 1, 16) };
    let value = match buffer.dtype {
        DType::Bool => format!("select(0u, 1u, {value})"),
        DType::F16 | DType::BF16 => helpers.call(&format!("{}_of_f32", buffer.dtype), &[value]),
        _ => format!("u32({value})"),
    };
    let (word, all) = (format!("&b{number}[({index}) >> {shift}u]"), (1u32 << bits) - 1);
    let by = format!("((({index}) & {mask}u) * {bits}u)");
    format!("atomicAnd({word}, ~({all}u << {by})); atomicOr({word}, ({value} & {all}u) << {by});")
}
