//! Numbers collected for a new tensor, in the narrowest kind that holds them all.

use opforge::{Complex, DType, Device, Scalar, Tensor};
use opforge_core::{Kind, promote};

use super::fault::Fault;

/// Numbers on their way into a tensor: of the narrowest kind that holds all of them, or of the kind that a given dtype asks for.
pub struct Elements {
    values: Values,
    /// The dtype asked for.
    target: Option<DType>,
    /// What the numbers' own dtypes promote to.
    natural: Option<DType>,
    /// Whether one of the integers is beyond 64 bits; it is kept as a float.
    oversized: bool,
}

enum Values {
    Bool(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    Complex(Vec<Complex<f64>>),
}

impl Values {
    fn of(dtype: DType) -> Self {
        match dtype.kind() {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Int if dtype == DType::U64 => Values::UInt(Vec::new()),
            Kind::Int => Values::Int(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Complex => Values::Complex(Vec::new()),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Values::Bool(_) => Kind::Bool,
            Values::Int(_) | Values::UInt(_) => Kind::Int,
            Values::Float(_) => Kind::Float,
            Values::Complex(_) => Kind::Complex,
        }
    }

    fn scalars(&self) -> Vec<Scalar> {
        match self {
            Values::Bool(values) => values.iter().map(|&v| v.into()).collect(),
            Values::Int(values) => values.iter().map(|&v| v.into()).collect(),
            Values::UInt(values) => values.iter().map(|&v| v.into()).collect(),
            Values::Float(values) => values.iter().map(|&v| v.into()).collect(),
            Values::Complex(values) => values.iter().map(|&v| v.into()).collect(),
        }
    }

    /// The same numbers as a wider kind.
    fn widened(&self, kind: Kind) -> Self {
        let scalars = self.scalars();
        match kind {
            Kind::Bool => Values::Bool(scalars.into_iter().map(Scalar::to_bool).collect()),
            Kind::Int => Values::Int(scalars.into_iter().map(Scalar::to_i64).collect()),
            Kind::Float => Values::Float(scalars.into_iter().map(Scalar::to_f64).collect()),
            Kind::Complex => Values::Complex(scalars.into_iter().map(complex).collect()),
        }
    }
}

fn complex(number: Scalar) -> Complex<f64> {
    let (re, im) = number.to_complex();
    Complex::new(re, im)
}

impl Elements {
    /// None so far, for a dtype if one is asked for.
    pub fn new(target: Option<DType>) -> Self {
        Elements { values: Values::of(target.unwrap_or(DType::Bool)), target, natural: None, oversized: false }
    }

    /// Takes a dtype into account that numbers have.
    #[inline]
    pub fn note(&mut self, natural: DType) -> Result<(), Fault> {
        if self.natural == Some(natural) {
            return Ok(());
        }
        match promote(self.natural.unwrap_or(natural), natural) {
            None if self.target.is_none() => {
                return Err(Fault::kind(natural.long_name(), "one dtype, as float8 is not promoted; or `dtype`"));
            }
            both => self.natural = both,
        }
        Ok(())
    }

    /// Appends a number whose own dtype is `natural`.
    #[inline]
    pub fn push(&mut self, number: Scalar, natural: DType) -> Result<(), Fault> {
        self.note(natural)?;
        match (&mut self.values, number) {
            (Values::Float(values), Scalar::Float(v)) => values.push(v),
            (Values::Int(values), Scalar::Int(v)) if self.target.is_none() => values.push(v),
            _ => return self.convert(number),
        }
        Ok(())
    }

    /// Appends an integer of more than 64 bits.
    pub fn push_oversized(&mut self, value: f64) -> Result<(), Fault> {
        self.oversized = true;
        self.push(Scalar::Float(value), DType::I64)
    }

    fn convert(&mut self, number: Scalar) -> Result<(), Fault> {
        if self.target.is_none() {
            self.make_room(number);
        }
        match &mut self.values {
            Values::Bool(values) => values.push(number.to_bool()),
            Values::Int(values) => values.push(whole(number, self.target.unwrap_or(DType::I64))? as i64),
            Values::UInt(values) => values.push(unsigned(number)?),
            Values::Float(_) if number.kind() == Kind::Complex => {
                return Err(Fault::kind("a complex number", "real numbers"));
            }
            Values::Float(values) => values.push(number.to_f64()),
            Values::Complex(values) => values.push(complex(number)),
        }
        Ok(())
    }

    /// Widens the values so far to a kind that holds one more number.
    fn make_room(&mut self, number: Scalar) {
        let unsigned = matches!(number, Scalar::UInt(_));
        if unsigned && self.natural == Some(DType::U64) {
            if !matches!(self.values, Values::UInt(_)) {
                self.values = Values::UInt(self.values.scalars().into_iter().map(|v| v.to_i64() as u64).collect());
            }
            return;
        }
        self.oversized |= unsigned;
        let kind = if unsigned { Kind::Float } else { number.kind() };
        if kind > self.values.kind() {
            self.values = self.values.widened(kind);
        }
    }

    /// The tensor of the numbers in row-major order.
    pub fn into_tensor(self, shape: &[usize], default: DType) -> Result<Tensor, Fault> {
        let dtype = self.target.or(self.natural).unwrap_or(default);
        if self.oversized && dtype.is_int() {
            return Err(Fault::range("an integer of more than 64 bits", "integers that int64 can hold"));
        }
        let device = &Device::Cpu;
        let tensor = match self.values {
            Values::Bool(values) => Tensor::from_vec(values, shape, device),
            Values::Int(values) => Tensor::from_vec(values, shape, device),
            Values::UInt(values) => Tensor::from_vec(values, shape, device),
            Values::Float(values) => Tensor::from_vec(values, shape, device),
            Values::Complex(values) => Tensor::from_vec(values, shape, device),
        };
        Ok(tensor.and_then(|tensor| tensor.to_dtype(dtype))?)
    }
}

/// The whole part of a number, within a dtype's range; unsigned dtypes take negative numbers that wrap.
fn whole(number: Scalar, dtype: DType) -> Result<i128, Fault> {
    let bits = dtype.size_in_bytes() as u32 * 8;
    let (low, high) = if dtype.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (-(1i128 << bits) + 1, (1i128 << bits) - 1)
    };
    let value = match number {
        Scalar::UInt(v) => Some(i128::from(v)),
        Scalar::Float(v) => v.is_finite().then_some(v.trunc() as i128),
        Scalar::Complex(..) => return Err(Fault::kind("a complex number", "real numbers")),
        other => Some(i128::from(other.to_i64())),
    };
    let fits = value.filter(|value| (low..=high).contains(value));
    fits.ok_or_else(|| Fault::range(number, format!("numbers that {} can hold", dtype.long_name())))
}

fn unsigned(number: Scalar) -> Result<u64, Fault> {
    let value = u64::try_from(whole(number, DType::U64)?);
    value.map_err(|_| Fault::range(number, "numbers that uint64 can hold"))
}
