//! Kernels as source text.
//!
//! All three languages have the same statements, in braces; what differs is a `Language`. Every value has a name, so that operations are printed one by one.

mod c;
mod cuda;
mod language;
mod wgsl;
mod wgsl_helpers;
mod wgsl_memory;
mod wgsl_operations;
mod wgsl_waves;

pub use c::{c, c_prelude};
pub use cuda::{cuda, cuda_prelude};
pub use wgsl::{STATUS_BINDING, wgsl};

use std::fmt::Write;

use opforge_core::Result;
use opforge_trace::Op;

use crate::kernel::{Block, Id, Kernel, LANES, Loop, Source, Statement};
use language::Language;

/// A kernel's statements in a language.
struct Printer<'a, L> {
    kernel: &'a Kernel,
    language: &'a L,
    text: String,
    depth: usize,
    /// The index of the lanes that are printed, by which C tells their variables apart.
    lane: Option<Id>,
}

/// The statements of a kernel, indented once.
fn body<L: Language>(kernel: &Kernel, language: &L) -> Result<String> {
    let mut printer = Printer { kernel, language, text: String::new(), depth: 1, lane: None };
    printer.block(&kernel.body)?;
    Ok(printer.text)
}

impl<L: Language> Printer<'_, L> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "", indent = 4 * self.depth);
    }

    /// A block in braces.
    fn braces(&mut self, head: &str, block: &Block, foot: &str) -> Result<()> {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.block(block)?;
        self.depth -= 1;
        self.line(&format!("}}{foot}"));
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        block.iter().try_for_each(|statement| self.statement(statement))
    }

    /// What a value is called.
    fn name(&self, id: Id) -> Result<String> {
        let node = self.kernel.value(id);
        match node.source {
            Source::Compute(op @ Op::Constant(_)) => self.language.operation(&op, node.dtype, node.dtype, &[]),
            Source::Parameter(k) => Ok(self.language.parameter(k)),
            Source::Number(k) => Ok(self.language.number(node.dtype, k)),
            Source::Index => Ok(format!("n{}", id.0)),
            _ => Ok(format!("t{}", id.0)),
        }
    }

    fn names(&self, ids: &[Id]) -> Result<Vec<String>> {
        ids.iter().map(|&id| self.name(id)).collect()
    }

    fn variable(&self, number: usize) -> String {
        let lane = self.lane.filter(|_| self.kernel.variables[number].of_lanes);
        self.language.variable(number, lane.map(|id| format!("n{}", id.0)))
    }

    /// What a value is.
    fn value(&self, id: Id) -> Result<String> {
        let node = self.kernel.value(id);
        let operands = self.names(&node.operands)?;
        match node.source {
            Source::Compute(op) => {
                let of = node.operands.first().map_or(node.dtype, |&id| self.kernel.value(id).dtype);
                let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
                self.language.operation(&op, node.dtype, of, &operands)
            }
            Source::Load(buffer) => self.language.load(buffer, &self.kernel.buffers[buffer], &operands[0]),
            Source::HighProduct => Ok(self.language.high_product(&operands[0], &operands[1])),
            Source::Kept => Ok(self.language.kept(node.dtype, &operands[0])),
            Source::Rounded(dtype) => Ok(self.language.rounded(dtype, &operands[0])),
            Source::Read(variable) => Ok(self.variable(variable)),
            Source::LoadShared(array) => Ok(format!("s{array}[{}]", operands[0])),
            Source::Parameter(_) | Source::Number(_) | Source::OfPack(_) | Source::Index => self.name(id),
        }
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        let language = self.language;
        match statement {
            Statement::Let(id) => {
                let line = language.constant(self.kernel.value(*id).dtype, &self.name(*id)?, &self.value(*id)?);
                self.line(&line);
            }
            Statement::Declare(number, id) => {
                let dtype = self.kernel.variables[*number].dtype;
                let line = language.declaration(dtype, &self.variable(*number), &self.name(*id)?);
                self.line(&line);
            }
            Statement::Set(number, id) => {
                let line = format!("{} = {};", self.variable(*number), self.name(*id)?);
                self.line(&line);
            }
            Statement::Store { buffer, index, value } => {
                let (index, value) = (self.name(*index)?, self.name(*value)?);
                let line = language.store(*buffer, &self.kernel.buffers[*buffer], &index, &value)?;
                self.line(&line);
            }
            Statement::LoadPack { buffer, index, values } => {
                let (index, names) = (self.name(*index)?, self.names(values)?);
                let dtype = self.kernel.value(values[0]).dtype;
                for line in language.load_pack(*buffer, &self.kernel.buffers[*buffer], &index, dtype, &names)? {
                    self.line(&line);
                }
            }
            Statement::StorePack { buffer, index, values } => {
                let (index, names) = (self.name(*index)?, self.names(values)?);
                for line in language.store_pack(*buffer, &self.kernel.buffers[*buffer], &index, &names)? {
                    self.line(&line);
                }
            }
            Statement::StoreShared { array, index, value } => {
                let line = format!("s{array}[{}] = {};", self.name(*index)?, self.name(*value)?);
                self.line(&line);
            }
            Statement::Each(of) => self.counted(of, language.thread(), language.threads())?,
            Statement::Groups(of) => self.counted(of, language.group(), language.groups())?,
            Statement::Repeat(of) => self.counted(of, None, None)?,
            Statement::Lanes(of) => self.lanes(of, language.barrier())?,
            Statement::Alone(of) => self.lanes(of, "")?,
            Statement::Exchange { to, from, apart } => {
                let dtype = self.kernel.variables[*from].dtype;
                let line = language.exchange([*to, *from], dtype, *apart);
                self.line(&line);
            }
            Statement::Forever(block) => self.braces(language.forever(), block, "")?,
            Statement::Leave(id) => {
                let line = format!("if ({}) {{ break; }}", self.name(*id)?);
                self.line(&line);
            }
            Statement::When { condition, then, otherwise } => {
                let condition = self.name(*condition)?;
                self.braces(&format!("if ({condition})"), then, if otherwise.is_empty() { "" } else { " else {" })?;
                if !otherwise.is_empty() {
                    self.depth += 1;
                    self.block(otherwise)?;
                    self.depth -= 1;
                    self.line("}");
                }
            }
            Statement::Fail { condition, fault, found } => {
                let (condition, of) = (self.name(*condition)?, self.kernel.value(*found).dtype);
                let line = language.fail(&condition, *fault, &self.name(*found)?, of);
                self.line(&line);
            }
        }
        Ok(())
    }

    /// A loop from 0, or from a thread's own number by the number of threads.
    fn counted(&mut self, of: &Loop, first: Option<&str>, step: Option<&str>) -> Result<()> {
        let (index, count) = (self.name(of.index)?, self.name(of.count)?);
        let head = self.language.counted(&index, first, &count, step);
        self.braces(&head, &of.body, "")
    }

    /// What lanes do, and that they wait for one another.
    fn lanes(&mut self, of: &Loop, barrier: &str) -> Result<()> {
        let outer = self.lane.replace(of.index);
        let (index, count) = (self.name(of.index)?, self.name(of.count)?);
        match self.language.lane() {
            None => self.counted(of, None, None)?,
            Some(lane) => {
                let line = self.language.constant(crate::kernel::INDEX, &index, lane);
                self.line("{");
                self.depth += 1;
                self.line(&line);
                if self.kernel.value(of.count).source == Source::Compute(Op::Constant(LANES as u64)) {
                    self.block(&of.body)?;
                } else {
                    self.braces(&format!("if ({index} < {count})"), &of.body, "")?;
                }
                self.depth -= 1;
                self.line("}");
                if !barrier.is_empty() {
                    self.line(barrier);
                }
            }
        }
        self.lane = outer;
        Ok(())
    }
}
