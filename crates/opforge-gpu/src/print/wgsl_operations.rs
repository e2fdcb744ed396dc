//! Operations in WGSL. It has no integers of 8 and 16 bits: they are computed in 32 and wrapped after each operation.

use opforge_core::{DType, Error, Result};
use opforge_trace::Op;

use super::wgsl_helpers::Helpers;

/// What a dtype is computed in.
pub(super) fn ty(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::U8 | DType::U16 | DType::U32 => "u32",
        DType::I8 | DType::I16 | DType::I32 => "i32",
        DType::U64 => "u64",
        DType::I64 => "i64",
        DType::F64 => "f64",
        _ => "f32",
    }
}

/// A value of 32 bits as one of a dtype of fewer.
pub(super) fn narrow(dtype: DType, value: &str) -> String {
    match dtype {
        DType::U8 => format!("(({value}) & 255u)"),
        DType::U16 => format!("(({value}) & 65535u)"),
        DType::I8 => format!("((({value}) << 24u) >> 24u)"),
        DType::I16 => format!("((({value}) << 16u) >> 16u)"),
        _ => value.to_owned(),
    }
}

/// An operation on names: its result's dtype, and that of its first operand. The operator and the device are for errors.
pub(super) fn operation(
    helpers: &Helpers,
    (operator, device): (&'static str, &'static str),
    op: &Op,
    dtype: DType,
    of: DType,
    x: &[&str],
) -> Result<String> {
    let infix = |sign: &str| narrow(dtype, &format!("{} {sign} {}", x[0], x[1]));
    let call = |name: &str| format!("{name}({})", x.join(", "));
    let helper = |name: &str| narrow(dtype, &helpers.call(&format!("{name}_{}", ty(of)), x));
    let truth = of == DType::Bool;
    Ok(match op {
        Op::Input(i) => format!("x{i}"),
        Op::Constant(bits) => constant(helpers, *bits, dtype),
        Op::Neg if !dtype.is_signed() => narrow(dtype, &format!("{} - {}", constant(helpers, 0, dtype), x[0])),
        Op::Neg => narrow(dtype, &format!("-{}", x[0])),
        Op::Abs => call("abs"),
        Op::Sqrt => call("sqrt"),
        Op::Floor => call("floor"),
        Op::Ceil => call("ceil"),
        Op::Trunc => call("trunc"),
        Op::RoundTiesEven => call("round"),
        Op::Not if truth => format!("!{}", x[0]),
        Op::Not => narrow(dtype, &format!("~{}", x[0])),
        Op::Add => infix("+"),
        Op::Sub => infix("-"),
        Op::Mul => infix("*"),
        Op::Div | Op::Quotient if of.is_float() => infix("/"),
        Op::Div | Op::Quotient => helper("div"),
        Op::Rem => helper("rem"),
        Op::Min => helper("min"),
        Op::Max => helper("max"),
        Op::MulAdd => call("fma"),
        Op::Exp2 => call("exp2"),
        Op::And if truth => infix("&&"),
        Op::And => infix("&"),
        Op::Or if truth => infix("||"),
        Op::Or => infix("|"),
        Op::Xor if truth => infix("!="),
        Op::Xor => infix("^"),
        Op::Shl(count) => narrow(dtype, &format!("{} << {count}u", x[0])),
        Op::Shr(count) => format!("{} >> {count}u", x[0]),
        Op::ShiftLeft | Op::ShiftRight => {
            let name = if *op == Op::ShiftLeft { "shl" } else { "shr" };
            let width = format!("{}u", 8 * of.size_in_bytes());
            narrow(dtype, &helpers.call(&format!("{name}_{}", ty(of)), &[x[0], x[1], &width]))
        }
        Op::Pow => helper("pow"),
        Op::Gcd => helper("gcd"),
        Op::Lt => infix("<"),
        Op::Le => infix("<="),
        Op::Eq => infix("=="),
        // NaN is not equal to itself, which `!=` need not say.
        Op::Ne => format!("!({} == {})", x[0], x[1]),
        Op::Select => format!("select({}, {}, {})", x[2], x[1], x[0]),
        Op::Convert => converted(helpers, x[0], of, dtype),
        Op::Reinterpret => format!("bitcast<{}>({})", ty(dtype), x[0]),
        Op::Call("sin", _) => helpers.call("sin_f64", x),
        Op::Call("cos", _) => helpers.call("cos_f64", x),
        Op::Call("fmod", _) => helpers.call("fmod_f64", x),
        Op::Call(name, _) => {
            let accepted = format!("functions that WGSL can be given on {device}");
            return Err(Error::device(operator, "function", *name, accepted));
        }
    })
}

/// The number in another dtype.
fn converted(helpers: &Helpers, x: &str, of: DType, to: DType) -> String {
    match (of, to) {
        (DType::Bool, _) => format!("select({}, {}, {x})", constant(helpers, 0, to), one(to)),
        (of, to) if of.is_float() && to.is_int() => helpers.call(&format!("{to}_of_{of}"), &[x]),
        // What is widened would get the sign of its new dtype.
        _ => match (ty(of), ty(to)) {
            ("u32", "i64") => format!("i64(u64({x}))"),
            ("i32", "u64") => format!("u64(i64({x}))"),
            (_, wanted) => narrow(to, &format!("{wanted}({x})")),
        },
    }
}

/// 1 of a dtype.
fn one(dtype: DType) -> &'static str {
    match ty(dtype) {
        "u32" => "1u",
        "i32" => "1i",
        "u64" => "1lu",
        "i64" => "1li",
        "f64" => "1.0lf",
        "bool" => "true",
        _ => "1.0f",
    }
}

/// The number with these bits.
fn constant(helpers: &Helpers, bits: u64, dtype: DType) -> String {
    match dtype {
        DType::Bool => (bits != 0).to_string(),
        DType::F32 => {
            let value = f32::from_bits(bits as u32);
            // Literals may neither be infinite nor NaN, nor lose a sign or digits.
            if value.is_normal() && value > 0.0 || bits == 0 {
                format!("{value:?}f")
            } else {
                helpers.call("f32_of_bits", &[&format!("{:#x}u", bits as u32)])
            }
        }
        DType::F64 => {
            let value = f64::from_bits(bits);
            let magnitude = format!("{:?}lf", value.abs());
            match value {
                _ if value.is_finite() && value.is_sign_positive() => magnitude,
                _ if value.is_finite() && value != 0.0 => format!("(-{magnitude})"),
                _ => format!("f64({})", constant(helpers, (value as f32).to_bits().into(), DType::F32)),
            }
        }
        DType::I64 if bits as i64 == i64::MIN => "(-9223372036854775807li - 1li)".to_owned(),
        DType::I64 => format!("({}li)", bits as i64),
        DType::U64 => format!("{bits}lu"),
        DType::I32 => format!("i32({})", bits as i32),
        DType::I16 => format!("i32({})", bits as i16),
        DType::I8 => format!("i32({})", bits as i8),
        DType::U8 => format!("{}u", bits as u8),
        DType::U16 => format!("{}u", bits as u16),
        _ => format!("{}u", bits as u32),
    }
}
