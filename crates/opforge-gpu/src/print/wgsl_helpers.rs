//! Functions that kernels in WGSL call: those that a kernel needs, each defined once.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::wgsl_waves::{REDUCED, wave};
use crate::kernel::LANES;

/// The functions that were called.
#[derive(Default)]
pub(super) struct Helpers(RefCell<BTreeSet<String>>);

impl Helpers {
    /// A call of a function, by its name and the type, `div_i32`.
    pub fn call(&self, name: &str, arguments: &[&str]) -> String {
        self.0.borrow_mut().insert(name.to_owned());
        format!("{name}({})", arguments.join(", "))
    }

    /// The functions, with those that they call themselves.
    pub fn definitions(&self) -> String {
        let mut names = self.0.borrow().clone();
        let also = |name: &str| match name {
            "fmod_f64" => Some("f32_of_bits".to_owned()),
            "sin_f64" | "cos_f64" => Some("reduced_f64".to_owned()),
            name => name.strip_prefix("gcd_").map(|ty| format!("rem_{ty}")),
        };
        let more: Vec<String> = names.iter().filter_map(|name| also(name)).collect();
        names.extend(more);
        names.iter().map(|name| definition(name)).collect()
    }
}

/// A function by its name.
fn definition(name: &str) -> String {
    match name {
        "f32_of_bits" => return "fn f32_of_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }\n".to_owned(),
        "f32_of_f16" => return F32_OF_F16.to_owned(),
        "f16_of_f32" => return F16_OF_F32.to_owned(),
        "f32_of_bf16" => return "fn f32_of_bf16(h: u32) -> f32 { return bitcast<f32>(h << 16u); }\n".to_owned(),
        "bf16_of_f32" => return BF16_OF_F32.to_owned(),
        "high_product" => return HIGH_PRODUCT.to_owned(),
        "fmod_f64" => return FMOD.to_owned(),
        "sin_f64" | "cos_f64" => return wave(name, name == "cos_f64"),
        "reduced_f64" => return REDUCED.to_owned(),
        "kept_f32" => return KEPT.replace("{float}", "f32").replace("{bits}", "u32"),
        "kept_f64" => return KEPT.replace("{float}", "f64").replace("{bits}", "u64"),
        _ => {}
    }
    if let Some((to, from)) = name.split_once("_of_") {
        return saturating(to, from);
    }
    let (kind, ty) = name.split_once('_').unwrap_or((name, "i32"));
    let (signed, suffix) = match ty {
        "i32" => (true, "i"),
        "i64" => (true, "li"),
        "u64" => (false, "lu"),
        _ => (false, "u"),
    };
    if kind == "exchanged" {
        return EXCHANGED.replace("{ty}", ty).replace("{lanes}", &LANES.to_string());
    }
    let (zero, minus_one) = (format!("0{suffix}"), format!("b == -1{suffix}"));
    let negative = |x: &str| if signed { format!("{x} < {zero}") } else { "false".to_owned() };
    let two = |body: String| format!("fn {name}(a: {ty}, b: {ty}) -> {ty} {{ {body} }}\n");
    match kind {
        // NaN if either is NaN.
        "min" => two("return select(b, a, a < b || !(a == a));".to_owned()),
        "max" => two("return select(b, a, b < a || !(a == a));".to_owned()),
        // A divisor of 0 gives 0.
        "div" => {
            let wraps = if signed { format!("if ({minus_one}) {{ return -a; }} ") } else { String::new() };
            two(format!("if (b == {zero}) {{ return {zero}; }} {wraps}return a / b;"))
        }
        "rem" => {
            let wraps = if signed { format!("if ({minus_one}) {{ return {zero}; }} ") } else { String::new() };
            two(format!("if (b == {zero}) {{ return {zero}; }} {wraps}return a % b;"))
        }
        "gcd" => two(format!(
            "var x = a; var y = b; loop {{ if (y == {zero}) {{ break; }} let left = rem_{ty}(x, y); x = y; y = left; }} \
             if ({}) {{ x = {zero} - x; }} return x;",
            negative("x")
        )),
        "pow" => {
            let (unsigned, end) = if ty.ends_with("64") { ("u64", "lu") } else { ("u32", "u") };
            two(format!(
                "var power: {ty} = 1{suffix}; var square = a; var left = {unsigned}(b); \
                 loop {{ if (left == 0{end}) {{ break; }} if ((left & 1{end}) == 1{end}) {{ power = power * square; }} \
                 left = left >> 1u; square = square * square; }} return power;"
            ))
        }
        // `shl` and `shr`, with the width of the integers.
        _ => {
            let beyond = format!("{} || n >= {ty}(width)", negative("n"));
            let (all, some) = match kind {
                "shl" => (zero.clone(), "a << u32(n)"),
                _ if signed => (format!("select({zero}, -1{suffix}, a < {zero})"), "a >> u32(n)"),
                _ => (zero.clone(), "a >> u32(n)"),
            };
            format!(
                "fn {name}(a: {ty}, n: {ty}, width: u32) -> {ty} {{ if ({beyond}) {{ return {all}; }} return {some}; }}\n"
            )
        }
    }
}

/// From floats to integers: NaN gives 0, and what is too large the type's limit.
fn saturating(to: &str, from: &str) -> String {
    let bits: i32 = to[1..].parse().unwrap_or(32);
    let signed = to.starts_with('i');
    let ty = match (bits, signed) {
        (64, true) => "i64",
        (64, false) => "u64",
        (_, true) => "i32",
        _ => "u32",
    };
    let (suffix, float) = (if bits == 64 { "l" } else { "" }, if from == "f64" { "lf" } else { "f" });
    let end = (bits - i32::from(signed)) as f64;
    let greatest = if signed { (1u128 << (bits - 1)) - 1 } else { (1u128 << bits) - 1 };
    let sign = if signed { "i" } else { "u" };
    let least =
        if signed { format!("(-{greatest}{suffix}{sign} - 1{suffix}{sign})") } else { format!("0{suffix}{sign}") };
    let low = if signed { format!("-{:?}{float}", end.exp2()) } else { format!("0.0{float}") };
    format!(
        "fn {to}_of_{from}(x: {from}) -> {ty} {{ if (!(x == x)) {{ return 0{suffix}{sign}; }} if (x <= {low}) {{ return {least}; }} \
         if (x >= {:?}{float}) {{ return {greatest}{suffix}{sign}; }} return {ty}(x); }}\n",
        end.exp2()
    )
}

/// Additions of numbers that round may not be taken back by who compiles them.
const KEPT: &str = "fn kept_{float}(x: {float}, zero: u32) -> {float} { return bitcast<{float}>(bitcast<{bits}>(x) ^ {bits}(zero)); }\n";

/// The upper word of a product of words, from products of their halves: not every GPU has integers of 64 bits.
const HIGH_PRODUCT: &str = "fn high_product(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu; let a1 = a >> 16u; let b0 = b & 0xffffu; let b1 = b >> 16u;
    let middle = a1 * b0; let other = a0 * b1;
    let carried = ((a0 * b0) >> 16u) + (middle & 0xffffu) + (other & 0xffffu);
    return a1 * b1 + (middle >> 16u) + (other >> 16u) + (carried >> 16u);
}
";

/// What another lane of the group has, by way of memory: not every GPU has instructions for it. All lanes call it.
const EXCHANGED: &str = "var<workgroup> of_lanes_{ty}: array<{ty}, {lanes}>;
fn exchanged_{ty}(lane: u32, x: {ty}, apart: u32) -> {ty} {
    of_lanes_{ty}[lane] = x;
    workgroupBarrier();
    let found = of_lanes_{ty}[lane ^ apart];
    workgroupBarrier();
    return found;
}
";

const F32_OF_F16: &str = "fn f32_of_f16(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u; let exponent = (h >> 10u) & 31u; let mantissa = h & 0x3ffu;
    if (exponent == 0u) { return bitcast<f32>(sign | bitcast<u32>(f32(mantissa) * 5.9604644775390625e-8f)); }
    return bitcast<f32>(sign | select((exponent + 112u) << 23u, 0x7f800000u, exponent == 31u) | (mantissa << 13u));
}
";

const F16_OF_F32: &str = "fn f16_of_f32(f: f32) -> u32 {
    let bits = bitcast<u32>(f); let sign = (bits >> 16u) & 0x8000u; let x = bits & 0x7fffffffu; let y = x - 0x38000000u;
    if (x > 0x7f800000u) { return sign | 0x7e00u; }
    if (x >= 0x47800000u) { return sign | 0x7c00u; }
    if (x < 0x38800000u) { return sign | u32(round(bitcast<f32>(x) * 16777216.0f)); }
    return sign | ((y + 0xfffu + ((y >> 13u) & 1u)) >> 13u);
}
";

const BF16_OF_F32: &str = "fn bf16_of_f32(f: f32) -> u32 {
    let bits = bitcast<u32>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
";

/// Exact: the divisor is doubled until it is as large as the dividend, and taken away on the way back.
/// Infinity and NaN are told by their bits: a compiler may take it that there are none, and the loops would have no end.
const FMOD: &str = "fn fmod_f64(a: f64, b: f64) -> f64 {
    let divisor = abs(b); var left = abs(a); var now = divisor;
    let infinity = 0x7ff0000000000000lu;
    if (bitcast<u64>(left) >= infinity || bitcast<u64>(divisor) > infinity || divisor == 0.0lf) { return f64(f32_of_bits(0x7fc00000u)); }
    if (left < divisor) { return a; }
    loop { if (now > left * 0.5lf) { break; } now = now * 2.0lf; }
    loop { if (left >= now) { left = left - now; } if (now == divisor) { break; } now = now * 0.5lf; }
    return select(left, -left, a < 0.0lf);
}
";
