//! What the languages of kernels differ in.

use opforge_core::{DType, Result};
use opforge_trace::Op;

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
    /// The statement that notes a failure.
    fn fail(&self, condition: &str, fault: u32, found: &str, dtype: DType) -> String;
    /// A parameter.
    fn parameter(&self, number: usize) -> String;
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
}
