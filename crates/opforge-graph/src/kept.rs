//! Gradients that tensors keep. Those that a traced function finds are further arguments of its program, those that it leaves further results: each call
//! finds others.

use opforge::tracer::untraced;
use opforge::{Error, Result, Tensor, TensorId};

use crate::run::GRAPH;
use crate::trace::with_recording;

/// A tensor from outside of a graph: one of its arguments, or another.
pub(crate) enum Leaf {
    Argument(usize),
    Captured(Tensor),
}

impl Leaf {
    pub fn tensor<'a>(&'a self, arguments: &[&'a Tensor]) -> &'a Tensor {
        match self {
            Leaf::Argument(number) => arguments[*number],
            Leaf::Captured(tensor) => tensor,
        }
    }
}

/// A tensor whose gradient was taken in a trace, with it, and what stands for it since then.
#[derive(Clone)]
pub(crate) struct Taken {
    pub of: Tensor,
    pub found: Option<Tensor>,
    pub stand_in: Option<Tensor>,
}

impl Taken {
    /// Gives the tensor back the gradient that it kept.
    pub fn give_back(&self) {
        // It has had this one before.
        let _ = untraced(|| self.of.set_grad(self.found.as_ref()));
    }
}

/// The gradient that a tensor keeps, as a function finds and leaves it.
pub(crate) struct Kept {
    of: Leaf,
    /// Whether there is one before: it is a further argument.
    is_found: bool,
    after: After,
}

enum After {
    AsBefore,
    None,
    /// It is a further result.
    Result,
}

/// In a trace: the gradients that were taken, and of those that the function leaves the ones that are others than before. All tensors get back what they kept.
///
/// # Errors
/// For gradients with a history: only calls one by one have those.
pub(crate) fn take_kept(arguments: &[Tensor]) -> Result<(Vec<Kept>, Vec<Tensor>)> {
    let number = |id: TensorId| arguments.iter().position(|argument| argument.id() == id);
    let (mut kept, mut left) = (Vec::new(), Vec::new());
    for taken in with_recording(|recording| Ok(recording.world.grads.clone()))? {
        let Taken { of, found, stand_in } = &taken;
        let is_of_trace = || with_recording(|recording| Ok(recording.is_of_trace(of)));
        let leaf = match number(of.id()) {
            Some(number) => Leaf::Argument(number),
            None if is_of_trace()? => continue,
            None => Leaf::Captured(of.clone()),
        };
        let now = untraced(|| of.grad());
        if found.is_some() != stand_in.is_some() || now.as_ref().is_some_and(Tensor::requires_grad) {
            let accepted = "gradients that are not differentiated again, where their tensors are";
            return Err(Error::autograd(GRAPH, "grad", "a gradient that a tensor keeps, with a history", accepted));
        }
        let after = match now {
            now if now.as_ref().map(Tensor::id) == stand_in.as_ref().map(Tensor::id) => After::AsBefore,
            None => After::None,
            Some(now) => {
                left.push(now.detach());
                After::Result
            }
        };
        kept.push(Kept { of: leaf, is_found: found.is_some(), after });
        taken.give_back();
    }
    Ok((kept, left))
}

/// The gradients that are a program's further arguments; none where tensors keep one that had none in the trace, or the other way round.
pub(crate) fn found(kept: &[Kept], arguments: &[&Tensor]) -> Option<Vec<Tensor>> {
    let mut found = Vec::new();
    for Kept { of, is_found, .. } in kept {
        let grad = of.tensor(arguments).grad();
        if grad.is_some() != *is_found || grad.as_ref().is_some_and(Tensor::requires_grad) {
            return None;
        }
        found.extend(grad);
    }
    Some(found)
}

/// How many gradients are a program's further results.
pub(crate) fn count_left(kept: &[Kept]) -> usize {
    kept.iter().filter(|kept| matches!(kept.after, After::Result)).count()
}

/// Leaves tensors the gradients that a call leaves them: these, in order, and none where it leaves none.
pub(crate) fn leave(kept: &[Kept], arguments: &[&Tensor], left: &[Tensor]) -> Result<()> {
    let mut left = left.iter();
    for Kept { of, after, .. } in kept {
        match after {
            After::AsBefore => {}
            After::None => of.tensor(arguments).set_grad(None)?,
            After::Result => of.tensor(arguments).set_grad(left.next())?,
        }
    }
    Ok(())
}
