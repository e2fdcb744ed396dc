//! Expressions as C: one function of scalars, in a straight line.

use std::fmt::Write;

use opforge_core::DType;

use crate::expression::{Expression, Id, Node, Op};

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
            let text = self.text(node, &texts);
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

    /// A node's value, from those of its operands.
    fn text(&self, node: &Node, texts: &[Option<Text>]) -> Text {
        if let Op::Input(i) = node.op {
            return Text::tight(self.argument(i));
        }
        let operands = node.operands.iter().map(|id| texts[id.0 as usize].as_ref());
        let operands: Vec<&Text> = operands.map(|text| text.expect("operands of what is used are used")).collect();
        let of = node.operands.first().map_or(node.dtype, |&id| self.node(id).dtype);
        operation(&node.op, node.dtype, of, &operands)
    }
}

/// An operation in C whose result is of one dtype, and whose first operand is of another: an expression of operands that are names, or
/// whatever needs no parentheses. What [`Expression::to_c`] asks for must stand before it. There are no arguments by number.
pub fn c_operation(op: &Op, dtype: DType, of: DType, operands: &[&str]) -> String {
    let operands: Vec<Text> = operands.iter().map(|&text| Text::tight(text)).collect();
    operation(op, dtype, of, &operands.iter().collect::<Vec<_>>()).text
}

/// An operation on values.
fn operation(op: &Op, dtype: DType, of: DType, operands: &[&Text]) -> Text {
    match spelling(op, dtype, of) {
        Spelling::Constant(text) => text,
        Spelling::Call(name) => {
            let arguments: Vec<&str> = operands.iter().map(|operand| &*operand.text).collect();
            Text::tight(format!("{name}({})", arguments.join(", ")))
        }
        Spelling::Prefix(sign) => {
            Text { text: format!("{sign}{}", operands[0].inside(Binds::Sign)), binds: Binds::Sign }
        }
        Spelling::Infix(operator, binds) => {
            Text { text: format!("{} {operator} {}", operands[0].under(binds), operands[1].inside(binds)), binds }
        }
        // What C itself needs no parentheses for, readers do.
        Spelling::Shift(operator, count) => {
            Text { text: format!("{} {operator} {count}", operands[0].inside(Binds::Product)), binds: Binds::Shift }
        }
        Spelling::Logic(operator, binds, within) => {
            Text { text: format!("{} {operator} {}", operands[0].inside(within), operands[1].inside(within)), binds }
        }
        Spelling::Choice => {
            let [condition, a, b] = [0, 1, 2].map(|k| operands[k].inside(Binds::Choice));
            Text { text: format!("{condition} ? {a} : {b}"), binds: Binds::Choice }
        }
    }
}

/// How C writes an operation.
enum Spelling {
    Constant(Text),
    Call(String),
    Prefix(String),
    Infix(&'static str, Binds),
    Shift(&'static str, u32),
    /// An operator, how tightly it is taken to bind, and how tightly its operands must.
    Logic(&'static str, Binds, Binds),
    Choice,
}

/// How an operation is written whose result is of one dtype, and whose first operand is of another.
fn spelling(op: &Op, dtype: DType, of: DType) -> Spelling {
    // Of the types that C computes in themselves and that wrap.
    let plain = !of.is_int() || matches!(of, DType::U32 | DType::U64);
    let prelude = |name: &str| Spelling::Call(format!("{name}_{}", tag(of)));
    let math = |name: &str| Spelling::Call(format!("{name}{}", if dtype == DType::F32 { "f" } else { "" }));
    let truth = of == DType::Bool;
    let logic = |operator| Spelling::Logic(operator, Binds::Logic, Binds::Logic);
    let bits = |operator| Spelling::Logic(operator, Binds::Bits, Binds::Bits);
    match op {
        Op::Input(i) => Spelling::Constant(Text::tight(format!("x{i}"))),
        Op::Constant(bits) => Spelling::Constant(constant(*bits, dtype)),
        Op::Neg if plain => Spelling::Prefix("-".to_owned()),
        Op::Neg => prelude("neg"),
        Op::Abs => math("fabs"),
        Op::Sqrt => math("sqrt"),
        Op::Floor => math("floor"),
        Op::Ceil => math("ceil"),
        Op::Trunc => math("trunc"),
        Op::RoundTiesEven => math("nearbyint"),
        Op::Not if truth => Spelling::Prefix("!".to_owned()),
        Op::Not => Spelling::Prefix(format!("({})~", c_type(of))),
        Op::Add if plain => Spelling::Infix("+", Binds::Sum),
        Op::Add => prelude("add"),
        Op::Sub if plain => Spelling::Infix("-", Binds::Sum),
        Op::Sub => prelude("sub"),
        Op::Mul if plain => Spelling::Infix("*", Binds::Product),
        Op::Mul => prelude("mul"),
        Op::Div | Op::Quotient if of.is_float() => Spelling::Infix("/", Binds::Product),
        Op::Div | Op::Quotient => prelude("div"),
        Op::Rem => prelude("rem"),
        Op::Min => prelude("min"),
        Op::Max => prelude("max"),
        Op::MulAdd => math("fma"),
        Op::Exp2 => math("exp2"),
        Op::And if truth => logic("&&"),
        Op::And => bits("&"),
        Op::Or if truth => logic("||"),
        Op::Or => bits("|"),
        Op::Xor if truth => Spelling::Logic("!=", Binds::Logic, Binds::Comparison),
        Op::Xor => bits("^"),
        Op::Shl(count) => Spelling::Shift("<<", *count),
        Op::Shr(count) => Spelling::Shift(">>", *count),
        Op::ShiftLeft => prelude("shl"),
        Op::ShiftRight => prelude("shr"),
        Op::Pow => prelude("pow"),
        Op::Gcd => prelude("gcd"),
        Op::Lt => Spelling::Infix("<", Binds::Comparison),
        Op::Le => Spelling::Infix("<=", Binds::Comparison),
        Op::Eq => Spelling::Infix("==", Binds::Comparison),
        Op::Ne => Spelling::Infix("!=", Binds::Comparison),
        Op::Select => Spelling::Choice,
        Op::Convert if of.is_float() && dtype.is_int() => Spelling::Call(format!("{}_of_{}", tag(dtype), tag(of))),
        Op::Reinterpret if of.is_float() => prelude("bits_of"),
        Op::Reinterpret if dtype.is_float() => Spelling::Call(format!("{}_of_bits", tag(dtype))),
        Op::Convert | Op::Reinterpret => Spelling::Prefix(format!("({})", c_type(dtype))),
        Op::Call(name, _) => Spelling::Call(format!("opforge_{name}")),
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

/// What C calls a dtype that is computed in.
pub fn c_type(dtype: DType) -> &'static str {
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
