//! What traces look like, family by family.

use opforge_core::{DType, Scalar};
use opforge_tile::{
    BinaryFn, CompareFn, Float, Int, Integers, Mask, Reducer, TernaryFn, TestFn, UnaryFn, UpdateFn, math,
};
use opforge_trace::{Op, binary, cast, choose, compare, reduce, ternary, test, unary, update};

/// A function of each family.
#[derive(Clone, Copy)]
struct Sample;

impl UnaryFn for Sample {
    const INT: bool = true;
    const BOOL: bool = true;
    fn float<V: Float>(self, x: V) -> V {
        V::select_rarely(x.gt(V::splat(1e5)), || math::zeta(x, x), x * x + x * x)
    }
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_abs().greater(I::least())
    }
    fn boolean<M: Mask>(self, x: M) -> M {
        !x
    }
}

impl BinaryFn for Sample {
    const INT: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("b", "anything but 0"));
    fn float<V: Float>(self, a: V, b: V) -> V {
        a.mul_add(b, V::splat(f64::NEG_INFINITY))
    }
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.div_floor(b)
    }
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
}

impl CompareFn for Sample {
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        (a.lt(b) | a.is_nan()) & !(b.eq(V::splat(-0.5)) ^ b.is_nan())
    }
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.ge(b)
    }
}

impl TestFn for Sample {
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.abs().le(V::splat(0.25))
    }
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(true)
    }
}

impl TernaryFn for Sample {
    fn float<V: Float>(self, a: V, b: V, c: V) -> V {
        a - (b - c)
    }
}

impl UpdateFn<2> for Sample {
    fn float<V: Float>(self, [a, b]: [V; 2], read: V) -> [V; 2] {
        let next = b + read;
        [a - next, next]
    }
}

impl Reducer for Sample {
    const INTEGERS: Integers = Integers::Same;
    fn identity(self) -> f64 {
        0.0
    }
    fn map<V: Float>(self, x: V) -> V {
        x.abs()
    }
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a.max(b)
    }
}

#[track_caller]
fn prints(expression: Option<opforge_trace::Expression>, c: &str) {
    let printed = expression.expect("the function has the dtype").to_c("f");
    assert_eq!(printed, c, "{printed}");
}

#[test]
fn what_is_used_twice_is_computed_once_and_rare_cases_are_choices() {
    let expression = unary(Sample, DType::F32, true).unwrap();
    assert_eq!(expression.nodes().iter().filter(|node| matches!(node.op, Op::Mul)).count(), 1);
    assert_eq!(expression.intrinsics().map(|(name, _)| name).collect::<Vec<_>>(), ["zeta"]);
    let c = "float f(float x) {\n    const float t1 = x * x;\n    const double t2 = (double)x;\n    \
             return 100000.0f < x ? (float)opforge_zeta(t2, t2) : t1 + t1;\n}\n";
    prints(Some(expression), c);
    // Halves are computed in f32, which the caller widens them to.
    prints(unary(Sample, DType::BF16, true), c);
}

#[test]
fn integers_wrap_in_their_own_type() {
    prints(
        unary(Sample, DType::I8, true),
        "int8_t f(int8_t x) {\n    const int8_t t1 = x < 0 ? neg_i8(x) : x;\n    return t1 < -128 ? -128 : t1;\n}\n",
    );
    prints(
        binary(Sample, DType::U32, true),
        "void f(uint32_t a, uint32_t b, uint32_t *y0, bool *fails) {\n    const uint32_t t1 = div_u32(a, b);\n    \
         const uint32_t t2 = rem_u32(a, b);\n    *y0 = t2 != 0u && ((t2 < 0u) != (b < 0u)) ? t1 - 1u : t1;\n    \
         *fails = b == 0u;\n}\n",
    );
    prints(compare(Sample, DType::I64, true), "bool f(int64_t a, int64_t b) {\n    return b <= a;\n}\n");
    prints(compare(Sample, DType::Bool, true), "bool f(bool a, bool b) {\n    return (uint8_t)b <= (uint8_t)a;\n}\n");
    prints(test(Sample, DType::U8, true), "bool f(uint8_t x) {\n    return true;\n}\n");
    prints(unary(Sample, DType::Bool, true), "bool f(bool x) {\n    return !x;\n}\n");
}

#[test]
fn products_are_added_in_one_rounding_or_in_two() {
    let of = |fused| binary(Sample, DType::F64, fused);
    prints(of(true), "double f(double a, double b) {\n    return fma(a, b, -INFINITY);\n}\n");
    prints(of(false), "double f(double a, double b) {\n    return a * b + -INFINITY;\n}\n");
    let bound = of(false).map(|expression| expression.bind(0, Scalar::Float(-2.0)));
    prints(bound, "double f(double x) {\n    return -2.0 * x + -INFINITY;\n}\n");
}

#[test]
fn parentheses_stand_where_c_needs_them() {
    prints(
        compare(Sample, DType::F32, true),
        "bool f(float a, float b) {\n    return (a < b || a != a) && !((b == -0.5f) != (b != b));\n}\n",
    );
    prints(test(Sample, DType::F64, true), "bool f(double x) {\n    return fabs(x) <= 0.25;\n}\n");
    prints(ternary(Sample, DType::F32, true), "float f(float a, float b, float c) {\n    return a - (b - c);\n}\n");
}

#[test]
fn updates_reductions_conversions_and_choices() {
    prints(
        update::<Sample, 2>(Sample, DType::F32, true),
        "void f(float a, float b, float c, float *y0, float *y1) {\n    const float t1 = b + c;\n    *y0 = a - t1;\n    \
         *y1 = t1;\n}\n",
    );
    let of = |dtype| reduce(Sample, dtype, dtype, 3, true).expect("the reducer has the dtype");
    prints(Some(of(DType::F64).identity), "double f(void) {\n    return 0.0;\n}\n");
    prints(Some(of(DType::F64).before), "double f(double x) {\n    return fabs(x);\n}\n");
    prints(Some(of(DType::F64).combine), "double f(double a, double b) {\n    return max_f64(a, b);\n}\n");
    prints(Some(of(DType::I32).combine), "int32_t f(int32_t a, int32_t b) {\n    return add_i32(a, b);\n}\n");
    prints(Some(of(DType::Bool).after), "bool f(uint8_t x) {\n    return x != 0;\n}\n");
    prints(cast(DType::F16, DType::U8), "uint8_t f(float x) {\n    return u8_of_f32(x);\n}\n");
    prints(cast(DType::I64, DType::F32), "float f(int64_t x) {\n    return (float)x;\n}\n");
    prints(cast(DType::F64, DType::Bool), "bool f(double x) {\n    return x != 0.0;\n}\n");
    let c = "float f(uint8_t a, float b, float c) {\n    return a != 0 ? b : c;\n}\n";
    prints(choose(DType::U8, DType::F32), c);
    assert!(cast(DType::C64, DType::F32).is_none() && choose(DType::Bool, DType::C128).is_none());
    assert!(unary(Sample, DType::C64, true).is_none() && update::<Sample, 2>(Sample, DType::I32, true).is_none());
}
