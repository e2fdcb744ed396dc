//! What a kernel's parameters stand for, and which arguments are theirs.

use std::ops::Range;

use crate::{Error, Result};

/// What a kernel's parameter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An input.
    Input,
    /// An input that the kernel changes, and maybe an output at the same time.
    Changed,
    /// An output.
    Output,
    /// A workspace.
    Workspace,
    /// Something else than memory.
    Other,
}

/// A kernel's parameters: names and roles.
#[derive(Debug, Clone, Copy)]
pub struct Signature(pub &'static [(&'static str, Role)]);

impl Signature {
    fn count(self, roles: &[Role]) -> usize {
        self.0.iter().filter(|(_, role)| roles.contains(role)).count()
    }

    /// How many inputs and outputs there are where no more is known; changed inputs are no outputs then.
    pub fn tensors(self) -> (usize, usize) {
        (self.count(&[Role::Input, Role::Changed]), self.count(&[Role::Output]))
    }

    /// Whether there are workspaces among them.
    pub fn has_workspaces(self) -> bool {
        self.count(&[Role::Workspace]) > 0
    }

    /// # Errors
    /// Unless there are so many inputs.
    pub fn check_inputs(self, given: usize) -> Result<()> {
        self.check("inputs", &[Role::Input, Role::Changed], given)
    }

    /// Whether changed inputs are outputs as well: all of them or none.
    ///
    /// # Errors
    /// Unless there are so many outputs in either case.
    pub fn check_outputs(self, given: usize) -> Result<bool> {
        let changed = self.count(&[Role::Changed]);
        let returned = changed > 0 && given == self.count(&[Role::Output]) + changed;
        let roles: &[Role] = if returned { &[Role::Output, Role::Changed] } else { &[Role::Output] };
        self.check("outputs", roles, given).map(|()| returned)
    }

    fn check(self, what: &str, roles: &[Role], given: usize) -> Result<()> {
        if self.count(roles) == given {
            return Ok(());
        }
        let names: Vec<&str> = self.0.iter().filter(|(_, role)| roles.contains(role)).map(|(name, _)| *name).collect();
        let accepted = names.len();
        Err(Error::new(format_args!("{given} {what} given; accepted: {accepted} ({})", names.join(", "))))
    }
}

/// Which arguments have not been assigned to parameters yet.
pub struct Places {
    inputs: Range<usize>,
    outputs: Range<usize>,
    workspaces: Range<usize>,
    returns_changed: bool,
}

impl Places {
    /// For so many arguments in all.
    ///
    /// # Errors
    /// If the signature has other numbers of inputs, outputs and workspaces.
    pub fn new(signature: Signature, (inputs, outputs): (usize, usize), given: usize) -> Result<Self> {
        signature.check_inputs(inputs)?;
        let returns_changed = signature.check_outputs(outputs)?;
        let first = inputs + outputs;
        let workspaces = given.checked_sub(first).ok_or_else(|| Error::new("there are too few arguments"))?;
        signature.check("workspaces", &[Role::Workspace], workspaces)?;
        Ok(Places { inputs: 0..inputs, outputs: inputs..first, workspaces: first..given, returns_changed })
    }

    /// The next argument with this role, and where it stands a second time.
    pub fn next(&mut self, role: Role) -> Option<(usize, Option<usize>)> {
        let first = match role {
            Role::Input | Role::Changed => self.inputs.next(),
            Role::Output => self.outputs.next(),
            Role::Workspace => self.workspaces.next(),
            Role::Other => None,
        };
        let again = role == Role::Changed && self.returns_changed;
        Some((first?, if again { self.outputs.next() } else { None }))
    }
}
