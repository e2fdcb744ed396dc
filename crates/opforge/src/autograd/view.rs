//! Histories of tensors that share elements.
//!
//! A view remembers its base: the tensor, itself not a view, whose elements it shows. A recorded in-place call on a view gives the base a new
//! origin, [`Action::Overwrite`], which passes the gradient of the part to the written value and that of the rest to what
//! the base was before. Every view that finds its base's history moved on takes a new origin from there: [`Action::Show`].
//!
//! What is not a view pays a comparison with null for this.

use smallvec::smallvec;

use super::Backward;
use super::hooks::move_retained;
use super::node::{Action, Node};
use super::slot::{Edge, Origin};
use crate::operator::Grads;
use crate::{Error, Layout, Meta, Result, Tensor};

impl Tensor {
    /// The tensor, itself not a view, whose elements this view shows; `None` for what is not a view. Detached tensors are not.
    pub fn base(&self) -> Option<&Tensor> {
        self.slot().base()
    }

    /// Where this tensor's gradient goes; a view catches up with its base first.
    pub(crate) fn edge(&self) -> Option<Edge> {
        let slot = self.slot();
        if !slot.requires_grad() {
            return None;
        }
        if let Some(base) = slot.base()
            && !slot.is_current(base)
        {
            follow(self, base);
        }
        Some(slot.origin().map_or_else(|| Edge::Leaf(self.clone()), |(node, output)| Edge::Node(node, output)))
    }
}

#[cold]
fn follow(view: &Tensor, base: &Tensor) {
    let derive = || {
        let Edge::Node(from, output) = base.edge()? else { return None };
        let at = from.at;
        let edges = [Some(Edge::Node(from, output))].into_iter().collect();
        Some((Node::derived(Action::Show, at, &[base.shared_meta()], view, edges), 0))
    };
    if let Some((old, new)) = view.slot().follow(base, derive) {
        move_retained(view, old.as_ref(), new.as_ref());
    }
}

/// Refuses to write into a tensor what recording could not follow.
pub(crate) fn check_write(op: &str, output: &Tensor) -> Result<()> {
    let refuse = |given: &str, accepted: &str| Err(Error::autograd(op.to_owned(), "output", given, accepted));
    if output.requires_grad() && output.is_leaf() {
        let given = "a leaf Variable that requires grad is being used in an in-place operation.";
        return refuse(given, "a computed tensor; change leaves under no_grad");
    }
    let Some(base) = output.base() else { return Ok(()) };
    if base.requires_grad() && base.is_leaf() {
        let given = "a view of a leaf Variable that requires grad is being used in an in-place operation.";
        return refuse(given, "a view of a computed tensor; change leaves under no_grad");
    }
    if base.requires_grad() && !output.requires_grad() {
        let given = "A view was created in no_grad mode and is being modified inplace with grad mode enabled.";
        return refuse(given, "view and change both under no_grad, or both outside of it");
    }
    if base.layout().may_overlap_itself() {
        return refuse("a view of a tensor some of whose elements share memory", "a copy of it");
    }
    Ok(())
}

/// Whether a recorded write into a tensor changes a history.
pub(crate) fn has_history(tensor: &Tensor) -> bool {
    tensor.requires_grad() || tensor.base().is_some_and(Tensor::requires_grad)
}

/// Makes `origin` the history of a tensor that was just written in place, and so of all that show its elements.
pub(crate) fn rewrite(output: &Tensor, origin: Origin) {
    let Some(base) = output.base() else { return replace(output, origin) };
    let (node, i) = origin;
    let at = node.at;
    let edges = [base.edge(), Some(Edge::Node(node, i))].into_iter().collect();
    let node = Node::derived(Action::Overwrite, at, &[base.shared_meta(), output.shared_meta()], base, edges);
    replace(base, (node, 0));
}

fn replace(tensor: &Tensor, origin: Origin) {
    let old = tensor.slot().origin();
    tensor.slot().rewrite(origin.clone());
    move_retained(tensor, old.as_ref(), Some(&origin));
}

/// One of a base and a view of it, in elements that both have: where one shows the complex numbers and the other their parts, these.
struct Side {
    layout: Layout,
    is_paired: bool,
}

impl Side {
    fn of(own: &Meta, other: &Meta) -> Self {
        let is_paired = own.dtype.is_complex() && !other.dtype.is_complex();
        let layout = if is_paired { own.layout.of_parts() } else { own.layout.clone() };
        Side { layout, is_paired }
    }

    /// A gradient in such elements.
    fn open(&self, grad: Tensor) -> Result<Tensor> {
        if self.is_paired { grad.as_parts() } else { Ok(grad) }
    }

    /// A gradient of them, as it was before.
    fn close(&self, grad: Tensor) -> Result<Tensor> {
        if self.is_paired { grad.of_parts() } else { Ok(grad) }
    }
}

/// The gradients of [`Action::Overwrite`]: of the base as it was before, zero where it was overwritten, and of the value that was written.
pub(super) fn overwrite_backward(ctx: &Backward<'_>) -> Result<Grads> {
    let (base, view) = (ctx.input_meta(0), ctx.input_meta(1));
    let (base, view) = (Side::of(base, view), Side::of(view, base));
    let (memory, start) = lay_out(&base.open(ctx.grad(0)?)?, &base.layout, &view.layout)?;
    let show = |layout: &Layout| memory.as_strided(layout.shape(), layout.stride(), layout.start_offset() - start);
    let part = show(&view.layout)?;
    let written = ctx.when(1, || view.close(part.copy()?))?;
    let kept = ctx.when(0, || {
        part.clear_elements()?;
        base.close(show(&base.layout)?)
    })?;
    Ok(smallvec![kept, written])
}

/// A copy of a base's gradient whose elements lie in memory as the base's do, and the place in the base's storage at which it starts.
fn lay_out(grad: &Tensor, base: &Layout, view: &Layout) -> Result<(Tensor, usize)> {
    let within = base.start_offset() <= view.start_offset() && view.span() <= base.span();
    if within && base.is_contiguous() {
        return Ok((grad.copy()?, base.start_offset()));
    }
    let start = base.start_offset().min(view.start_offset());
    let len = base.span().max(view.span()) - start;
    Ok((grad.laid_out(base, start, len)?, start))
}

/// The gradient of [`Action::Show`].
pub(super) fn show_backward(ctx: &Backward<'_>) -> Result<Grads> {
    let (view, base) = (ctx.output_meta(0), ctx.input_meta(0));
    let (shown, whole) = (Side::of(view, base), Side::of(base, view));
    let grad = shown.open(ctx.grad(0)?)?;
    let like = Meta { dtype: grad.dtype(), layout: whole.layout.clone() };
    Ok(smallvec![Some(whole.close(grad.shown_back(&shown.layout, &like)?)?)])
}
