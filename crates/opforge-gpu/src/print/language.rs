//! What the languages of kernels differ in.

use opforge_core::{DType, Result};
use opforge_trace::{Op, c_type};

use super::c::{narrowed, widened};
use crate::kernel::Buffer;

/// A language that kernels are printed in. Threads, groups and lanes have numbers where there are any; where there are none, loops stand for them.
pub(super) trait Language {
    /// `const float t1 = x;`
    fn constant(&self, dtype: DType, name: &str, value: &str) -> String;
    /// `float v1 = x;`
    fn declaration(&self, dtype: DType, name: &str, value: &str) -> String;
    /// An operation on names: its result's dtype, and that of its first operand.
    fn operation(&self, op: &Op, dtype: DType, of: DType, operands: &[&str]) -> Result<String>;
    /// The upper word of a product of words.
    fn high_product(&self, a: &str, b: &str) -> String {
        format!("(uint32_t)((uint64_t){a} * {b} >> 32)")
    }
    /// A value of which compilers do not know how it was made.
    fn kept(&self, _: DType, value: &str) -> String {
        value.to_owned()
    }
    /// A value as it is when it was stored in a dtype and read again.
    fn rounded(&self, dtype: DType, value: &str) -> String {
        widened(dtype, narrowed(dtype, value))
    }
    /// An element of a buffer, widened.
    fn load(&self, number: usize, buffer: &Buffer, index: &str) -> Result<String>;
    /// The statement that writes an element, rounded.
    fn store(&self, number: usize, buffer: &Buffer, index: &str, value: &str) -> Result<String>;
    /// The statements that define elements side by side.
    fn load_pack(
        &self,
        number: usize,
        buffer: &Buffer,
        index: &str,
        dtype: DType,
        names: &[String],
    ) -> Result<Vec<String>> {
        let element = |i| self.load(number, buffer, &format!("({index} + {i}u)"));
        names.iter().enumerate().map(|(i, name)| Ok(self.constant(dtype, name, &element(i)?))).collect()
    }
    /// The statements that write elements side by side.
    fn store_pack(&self, number: usize, buffer: &Buffer, index: &str, names: &[String]) -> Result<Vec<String>> {
        let store = |(i, name): (usize, &String)| self.store(number, buffer, &format!("({index} + {i}u)"), name);
        names.iter().enumerate().map(store).collect()
    }
    /// The statement that notes a failure.
    fn fail(&self, condition: &str, fault: u32, found: &str, dtype: DType) -> String;
    /// A parameter.
    fn parameter(&self, number: usize) -> String;
    /// The value whose bits the parameters from a number on are.
    fn number(&self, dtype: DType, first: usize) -> String {
        let word = |i: usize| self.parameter(first + i);
        let pair = || format!("((uint64_t){} << 32 | {})", word(1), word(0));
        match dtype {
            DType::F32 => format!("f32_of_bits({})", word(0)),
            DType::F64 => format!("f64_of_bits({})", pair()),
            DType::I64 => format!("(int64_t){}", pair()),
            _ => format!("({}){}", c_type(dtype), word(0)),
        }
    }
    /// A variable, of a lane if one is named.
    fn variable(&self, number: usize, lane: Option<String>) -> String;
    /// The head of a loop.
    fn counted(&self, index: &str, first: Option<&str>, count: &str, step: Option<&str>) -> String;
    /// The head of an endless loop.
    fn forever(&self) -> &'static str;
    /// The thread's number, and how many there are.
    fn thread(&self) -> Option<&'static str> {
        None
    }
    fn threads(&self) -> Option<&'static str> {
        None
    }
    /// The group's number, and how many there are.
    fn group(&self) -> Option<&'static str> {
        None
    }
    fn groups(&self) -> Option<&'static str> {
        None
    }
    /// The thread's number in its group.
    fn lane(&self) -> Option<&'static str> {
        None
    }
    /// Where the lanes of a group wait for one another.
    fn barrier(&self) -> &'static str {
        ""
    }
    /// The statement by which the first variable of lanes becomes the second one's value in the lane that differs in a bit.
    fn exchange(&self, variables: [usize; 2], dtype: DType, apart: usize) -> String;
}
