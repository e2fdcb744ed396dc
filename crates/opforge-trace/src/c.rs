//! Expressions as C: one function of scalars, in a straight line.

use std::fmt::Write;

use opforge_core::DType;

use crate::expression::{Expression, Function, Id, Op};

/// The longest expression that is not given a name of its own, in characters.
const LONGEST: usize = 72;

/// What the printed functions call, in C99: integers that wrap, conversions that saturate, bits.
pub const C_PRELUDE: &str = include_str!("prelude.h");

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Choice,
    Logic,
    Bits,
    Comparison,
    Shift,
    Sum,
    Product,
    Sign,
    Tightest,
}

/// A node's value in C.
#[derive(Clone)]
struct Text {
    text: String,
    binds: Binds,
}

impl Text {
    fn tight(text: impl Into<String>) -> Self {
        Text { text: text.into(), binds: Binds::Tightest }
    }

    /// As the operand of an operator that binds so: in parentheses where it binds less tightly.
    fn under(&self, binds: Binds) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text.clone() }
    }

    /// As [`Text::under`], where an operand that binds as tightly needs parentheses too.
    fn inside(&self, binds: Binds) -> String {
        if self.binds <= binds { format!("({})", self.text) } else { self.text.clone() }
    }
}

impl Expression {
    /// The expression as a C function. One result is returned; several, or one that may be missing, are written through pointers `y0`, `y1`
    /// and so on, and `fails`. Arguments are called `x`, or `a`, `b` and so on.
    ///
    /// Before it stand [`C_PRELUDE`] and, for each [intrinsic](Expression::intrinsics), what its name with `opforge_` before it is: a function
    /// of doubles.
    pub fn to_c(&self, name: &str) -> String {
        let returns = self.results.len() == 1 && self.failure.is_none();
        let mut arguments: Vec<String> =
            (0..self.inputs.len()).map(|i| format!("{} {}", c_type(self.inputs[i]), self.argument(i))).collect();
        let outputs: Vec<Id> = self.results.iter().chain(&self.failure).copied().collect();
        let pointer = |i: usize| if i < self.results.len() { format!("y{i}") } else { "fails".to_owned() };
        if !returns {
            let pointers = outputs.iter().enumerate();
            arguments.extend(pointers.map(|(i, &id)| format!("{} *{}", c_type(self.node(id).dtype), pointer(i))));
        }
        if arguments.is_empty() {
            arguments.push("void".to_owned());
        }
        let result = if returns { c_type(self.node(outputs[0]).dtype) } else { "void" };
        let mut c = format!("{result} {name}({}) {{\n", arguments.join(", "));
        let texts = self.texts(&mut c);
        for (i, &id) in outputs.iter().enumerate() {
            let text = texts[id.0 as usize].as_ref().map_or("", |text| &text.text);
            let target = if returns { "return ".to_owned() } else { format!("*{} = ", pointer(i)) };
            let _ = writeln!(c, "    {target}{text};");
        }
        c.push_str("}\n");
        c
    }

    fn argument(&self, i: usize) -> String {
        match (self.inputs.len(), i) {
            (1, _) => "x".to_owned(),
            (_, i) => char::from(b'a' + i as u8).to_string(),
        }
    }

    /// The value of each node that is needed; those that have a name of their own are defined in `c`.
    fn texts(&self, c: &mut String) -> Vec<Option<Text>> {
        let uses = self.uses();
        let mut texts: Vec<Option<Text>> = Vec::with_capacity(self.nodes.len());
        let mut named = 0;
        for (node, &uses) in self.nodes.iter().zip(&uses) {
            if uses == 0 {
                texts.push(None);
                continue;
            }
            let operand =
                |k: usize| -> &Text { texts[node.operands[k].0 as usize].as_ref().expect("operands are used") };
            let text = self.text(&node.op, node.dtype, node.operands.first().map(|&id| self.node(id).dtype), &operand);
            let simple = matches!(node.op, Op::Input(_) | Op::Constant(_));
            if simple || uses == 1 && text.text.len() <= LONGEST {
                texts.push(Some(text));
                continue;
            }
            named += 1;
            let _ = writeln!(c, "    const {} t{named} = {};", c_type(node.dtype), text.text);
            texts.push(Some(Text::tight(format!("t{named}"))));
        }
        texts
    }

    /// How often each node is used by those that are needed.
    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for id in self.results.iter().chain(&self.failure) {
            uses[id.0 as usize] += 1;
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if uses[i] > 0 {
                node.operands.iter().for_each(|id| uses[id.0 as usize] += 1);
            }
        }
        uses
    }

    fn text<'a>(&self, op: &Op, dtype: DType, of: Option<DType>, operand: &dyn Fn(usize) -> &'a Text) -> Text {
        let of = of.unwrap_or(dtype);
        let infix = |operator: &str, binds: Binds| Text {
            text: format!("{} {operator} {}", operand(0).under(binds), operand(1).inside(binds)),
            binds,
        };
        // What C itself would not need parentheses for, readers do.
        let shift = |operator: &str, count: u32| Text {
            text: format!("{} {operator} {count}", operand(0).inside(Binds::Product)),
            binds: Binds::Shift,
        };
        let call = |name: &str| {
            let arguments: Vec<&str> = (0..arity(op)).map(|k| operand(k).text.as_str()).collect();
            Text::tight(format!("{name}({})", arguments.join(", ")))
        };
        let prefix =
            |sign: &str| Text { text: format!("{sign}{}", operand(0).inside(Binds::Sign)), binds: Binds::Sign };
        // Of the types that C computes in themselves and that wrap.
        let plain = !of.is_int() || matches!(of, DType::U32 | DType::U64);
        let wrapping = |name: &str| call(&format!("{name}_{}", tag(of)));
        let math = |name: &str| call(&if dtype == DType::F32 { format!("{name}f") } else { name.to_owned() });
        match op {
            Op::Input(i) => Text::tight(self.argument(*i)),
            Op::Constant(bits) => constant(*bits, dtype),
            Op::Neg if plain => prefix("-"),
            Op::Neg => wrapping("neg"),
            Op::Abs => math("fabs"),
            Op::Sqrt => math("sqrt"),
            Op::Floor => math("floor"),
            Op::Ceil => math("ceil"),
            Op::Trunc => math("trunc"),
            Op::RoundTiesEven => math("nearbyint"),
            Op::Not if of == DType::Bool => prefix("!"),
            Op::Not => {
                Text { text: format!("({})~{}", c_type(of), operand(0).inside(Binds::Sign)), binds: Binds::Sign }
            }
            Op::Add if plain => infix("+", Binds::Sum),
            Op::Sub if plain => infix("-", Binds::Sum),
            Op::Mul if plain => infix("*", Binds::Product),
            Op::Add => wrapping("add"),
            Op::Sub => wrapping("sub"),
            Op::Mul => wrapping("mul"),
            Op::Div if of.is_float() => infix("/", Binds::Product),
            Op::Div => wrapping("div"),
            Op::Rem => wrapping("rem"),
            Op::Min => wrapping("min"),
            Op::Max => wrapping("max"),
            Op::MulAdd => math("fma"),
            Op::And => self.logic("&", of, operand),
            Op::Or => self.logic("|", of, operand),
            Op::Xor => self.logic("^", of, operand),
            Op::Shl(count) => shift("<<", *count),
            Op::Shr(count) => shift(">>", *count),
            Op::ShiftLeft => wrapping("shl"),
            Op::ShiftRight => wrapping("shr"),
            Op::Pow => wrapping("pow"),
            Op::Gcd => wrapping("gcd"),
            Op::Lt => infix("<", Binds::Comparison),
            Op::Le => infix("<=", Binds::Comparison),
            Op::Eq => infix("==", Binds::Comparison),
            Op::Ne => infix("!=", Binds::Comparison),
            Op::Select => Text {
                text: format!(
                    "{} ? {} : {}",
                    operand(0).inside(Binds::Choice),
                    operand(1).inside(Binds::Choice),
                    operand(2).inside(Binds::Choice)
                ),
                binds: Binds::Choice,
            },
            Op::Convert if of.is_float() && dtype.is_int() => call(&format!("{}_of_{}", tag(dtype), tag(of))),
            Op::Convert => {
                Text { text: format!("({}){}", c_type(dtype), operand(0).inside(Binds::Sign)), binds: Binds::Sign }
            }
            Op::Reinterpret if of.is_float() => call(&format!("bits_of_{}", tag(of))),
            Op::Reinterpret if dtype.is_float() => call(&format!("{}_of_bits", tag(dtype))),
            Op::Reinterpret => {
                Text { text: format!("({}){}", c_type(dtype), operand(0).inside(Binds::Sign)), binds: Binds::Sign }
            }
            Op::Call(name, _) => call(&format!("opforge_{name}")),
        }
    }

    fn logic<'a>(&self, operator: &str, of: DType, operand: &dyn Fn(usize) -> &'a Text) -> Text {
        let operator = match (of, operator) {
            (DType::Bool, "^") => "!=",
            (DType::Bool, "&") => "&&",
            (DType::Bool, "|") => "||",
            (_, operator) => operator,
        };
        let binds = if of == DType::Bool { Binds::Logic } else { Binds::Bits };
        let within = if operator == "!=" { Binds::Comparison } else { binds };
        Text { text: format!("{} {operator} {}", operand(0).inside(within), operand(1).inside(within)), binds }
    }
}

/// The operands that a call in C has.
fn arity(op: &Op) -> usize {
    match op {
        Op::MulAdd => 3,
        Op::Neg | Op::Abs | Op::Sqrt | Op::Floor | Op::Ceil | Op::Trunc | Op::RoundTiesEven => 1,
        Op::Convert | Op::Reinterpret | Op::Call(_, Function::Of1(_)) => 1,
        _ => 2,
    }
}

/// The number with these bits.
fn constant(bits: u64, dtype: DType) -> Text {
    let float = |value: f64, text: String| match value {
        _ if value.is_nan() => Text::tight("NAN"),
        f64::INFINITY => Text::tight("INFINITY"),
        f64::NEG_INFINITY => Text { text: "-INFINITY".to_owned(), binds: Binds::Sign },
        _ if value.is_sign_negative() => Text { text, binds: Binds::Sign },
        _ => Text::tight(text),
    };
    let signed = |least: i64, value: i64, suffix: &str| match value {
        _ if value == least => Text { text: format!("{}{suffix} - 1", value + 1), binds: Binds::Sum },
        _ if value < 0 => Text { text: format!("{value}{suffix}"), binds: Binds::Sign },
        _ => Text::tight(format!("{value}{suffix}")),
    };
    match dtype {
        DType::Bool => Text::tight(if bits == 0 { "false" } else { "true" }),
        DType::F32 => {
            let value = f32::from_bits(bits as u32);
            float(value.into(), format!("{value:?}f"))
        }
        DType::F64 => {
            let value = f64::from_bits(bits);
            float(value, format!("{value:?}"))
        }
        DType::I64 => signed(i64::MIN, bits as i64, "LL"),
        DType::I32 => signed(i32::MIN.into(), (bits as i32).into(), ""),
        DType::I16 => signed(i64::MIN, (bits as i16).into(), ""),
        DType::I8 => signed(i64::MIN, (bits as i8).into(), ""),
        DType::U64 => Text::tight(unsigned(bits, "ull")),
        DType::U32 => Text::tight(unsigned(bits, "u")),
        _ => Text::tight(bits.to_string()),
    }
}

/// Small numbers in decimal, masks and bit patterns in hexadecimal.
fn unsigned(value: u64, suffix: &str) -> String {
    if value < 4096 { format!("{value}{suffix}") } else { format!("{value:#x}{suffix}") }
}

fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::F64 => "double",
        _ => "float",
    }
}

/// What the prelude's functions of a type are called by.
fn tag(dtype: DType) -> &'static str {
    dtype.as_str()
}
