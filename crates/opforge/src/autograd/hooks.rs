//! Functions that see gradients as backward finds them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use super::Node;
use super::slot::{Edge, Extra, Origin, lock};
use crate::tensor::WeakTensor;
use crate::{Error, Result, Tensor};

/// Sees the whole gradient of a tensor and may return another one to take its place.
pub type Hook = dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// Sees a leaf whose [`Tensor::grad`] has just been added to.
pub type AfterHook = dyn Fn(&Tensor) -> Result<()> + Send + Sync;

/// Names a registered hook, to remove it with [`Tensor::remove_hook`].
#[derive(Debug, Clone)]
pub struct HookId {
    number: u64,
    /// Where the hook is, unless it is with the tensor.
    node: Option<WeakNode>,
}

#[derive(Clone)]
struct WeakNode(Weak<Node>);

impl std::fmt::Debug for WeakNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Node")
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Who wants to see the gradients of a node's outputs.
#[derive(Default)]
pub(crate) struct Watchers(OnceLock<Box<Mutex<Watching>>>);

#[derive(Default, Clone)]
struct Watching {
    /// By output.
    hooks: Vec<(u64, (usize, Arc<Hook>))>,
    /// Tensors that keep their gradients, by output.
    retaining: Vec<(usize, WeakTensor)>,
}

impl Watchers {
    fn add(&self, change: impl FnOnce(&mut Watching)) {
        change(&mut lock(self.0.get_or_init(Box::default)));
    }

    fn remove(&self, number: u64) {
        if let Some(watching) = self.0.get() {
            let hook = take(&mut lock(watching).hooks, number);
            drop(hook);
        }
    }

    /// Runs the hooks on complete gradients, which they may replace; calls `retain` for each tensor that keeps its own.
    pub(super) fn run(&self, grads: &mut [Option<Tensor>], mut retain: impl FnMut(Tensor, &Tensor)) -> Result<()> {
        let Some(watching) = self.0.get() else { return Ok(()) };
        // Hooks may add and remove hooks.
        let watching = lock(watching).clone();
        for (_, (output, hook)) in &watching.hooks {
            call(hook, &mut grads[*output])?;
        }
        for (output, tensor) in &watching.retaining {
            if let (Some(tensor), Some(grad)) = (tensor.upgrade(), &grads[*output]) {
                retain(tensor, grad);
            }
        }
        Ok(())
    }
}

/// Takes a hook out of a list, to be dropped when the list is not locked any more: that may run anything.
fn take<T>(hooks: &mut Vec<(u64, T)>, number: u64) -> Option<T> {
    let place = hooks.iter().position(|hook| hook.0 == number)?;
    Some(hooks.remove(place).1)
}

fn call(hook: &Arc<Hook>, grad: &mut Option<Tensor>) -> Result<()> {
    let Some(before) = grad else { return Ok(()) };
    if let Some(after) = hook(before)? {
        if after.shape() != before.shape() || after.dtype() != before.dtype() {
            let given = format!("{:?} {}", after.shape(), after.dtype());
            let accepted = format!("{:?} {}, as before it", before.shape(), before.dtype());
            return Err(Error::autograd("hook", "gradient", given, accepted));
        }
        *grad = Some(after);
    }
    Ok(())
}

/// Runs a leaf's hooks on its complete gradient.
pub(super) fn run_leaf_hooks(leaf: &Tensor, grad: Tensor) -> Result<Tensor> {
    let Some(extra) = leaf.slot().extra_opt() else { return Ok(grad) };
    let hooks = lock(&extra.hooks).clone();
    let mut grad = Some(grad);
    hooks.iter().try_for_each(|(_, hook)| call(hook, &mut grad))?;
    grad.ok_or_else(|| Error::autograd("hook", "gradient", "none", "the gradient"))
}

/// Runs what waits for a leaf's gradient to be there.
pub(super) fn run_after_hooks(leaf: &Tensor) -> Result<()> {
    let Some(extra) = leaf.slot().extra_opt() else { return Ok(()) };
    let hooks = lock(&extra.after).clone();
    hooks.iter().try_for_each(|(_, hook)| hook(leaf))
}

/// Whether any leaf of the program ever had such a hook.
static HAS_AFTER_HOOKS: AtomicBool = AtomicBool::new(false);

pub(super) fn may_have_after_hooks() -> bool {
    HAS_AFTER_HOOKS.load(Ordering::Relaxed)
}

/// Whether something waits for this leaf's gradient.
pub(super) fn has_after_hooks(leaf: &Tensor) -> bool {
    leaf.slot().extra_opt().is_some_and(|extra| !lock(&extra.after).is_empty())
}

/// Has a tensor that keeps its gradient watch its new origin instead of the old one.
pub(super) fn move_retained(tensor: &Tensor, old: Option<&Origin>, new: Option<&Origin>) {
    let retains = |extra: &Extra| extra.retains_grad.load(Ordering::Relaxed);
    if !tensor.slot().extra_opt().is_some_and(retains) {
        return;
    }
    let weak = tensor.downgrade();
    if let Some(watching) = old.and_then(|(node, _)| node.watchers.0.get()) {
        lock(watching).retaining.retain(|(_, kept)| !kept.is(&weak));
    }
    if let Some((node, output)) = new {
        node.watchers.add(|watching| watching.retaining.push((*output, weak)));
    }
}

impl Tensor {
    /// Has `hook` called with this tensor's gradient once in each backward, when the gradient is complete. What it returns takes the gradient's
    /// place. Hooks run in the order of their registration.
    ///
    /// A hook of a computed tensor sees the gradient of its value at registration: not of what later in-place calls make of it.
    ///
    /// # Errors
    /// For a tensor that needs no gradient. Errors of the hook end the backward that calls it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use opforge::{Device, Var};
    /// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
    /// let id = x.register_hook(Arc::new(|grad| grad.affine(10.0, 0.0).map(Some)))?;
    /// assert_eq!(x.sqr()?.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [20.0, 40.0]);
    /// x.remove_hook(id);
    /// assert_eq!(x.sqr()?.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn register_hook(&self, hook: Arc<Hook>) -> Result<HookId> {
        let number = next_number();
        let node = match self.edge() {
            None => {
                let given = "cannot register a hook on a tensor that doesn't require gradient";
                return Err(Error::autograd("register_hook", "tensor", given, "a tensor that needs a gradient"));
            }
            Some(Edge::Leaf(_)) => {
                lock(&self.slot().extra().hooks).push((number, hook));
                None
            }
            Some(Edge::Node(node, output)) => {
                node.watchers.add(|watching| watching.hooks.push((number, (output, hook))));
                Some(WeakNode(Arc::downgrade(&node)))
            }
        };
        Ok(HookId { number, node })
    }

    /// Has `hook` called with this leaf whenever [`accumulate`](super::accumulate) has added to its [`Tensor::grad`]: as soon as the gradient is
    /// complete, while backward goes on with what comes before.
    ///
    /// # Errors
    /// For a computed tensor, and one that needs no gradient. Errors of the hook end the backward that calls it.
    pub fn register_post_accumulate_grad_hook(&self, hook: Arc<AfterHook>) -> Result<HookId> {
        let given = match self.edge() {
            None => "cannot register a hook on a tensor that doesn't require gradient",
            Some(Edge::Node(..)) => "post accumulate grad hooks cannot be registered on non-leaf tensors",
            Some(Edge::Leaf(_)) => {
                let number = next_number();
                HAS_AFTER_HOOKS.store(true, Ordering::Relaxed);
                lock(&self.slot().extra().after).push((number, hook));
                return Ok(HookId { number, node: None });
            }
        };
        Err(Error::autograd("register_post_accumulate_grad_hook", "tensor", given, "a leaf that needs a gradient"))
    }

    /// Removes a hook of either kind. Does nothing if it is not there (any more).
    pub fn remove_hook(&self, id: HookId) {
        if let Some(node) = id.node.as_ref().and_then(|node| node.0.upgrade()) {
            return node.watchers.remove(id.number);
        }
        if let Some(extra) = self.slot().extra_opt() {
            let hook = take(&mut lock(&extra.hooks), id.number);
            let after = take(&mut lock(&extra.after), id.number);
            drop((hook, after));
        }
    }

    /// Has [`accumulate`](super::accumulate) and [`grad`](super::grad) leave this computed tensor's gradient in [`Tensor::grad`] too. For a leaf
    /// the former does so anyway.
    ///
    /// # Errors
    /// For a tensor that needs no gradient.
    pub fn retain_grad(&self) -> Result<()> {
        match self.edge() {
            None => {
                let given = "can't retain_grad on Tensor that has requires_grad=False";
                Err(Error::autograd("retain_grad", "tensor", given, "a tensor that needs a gradient"))
            }
            Some(Edge::Leaf(_)) => Ok(()),
            Some(Edge::Node(node, output)) => {
                if !self.slot().extra().retains_grad.swap(true, Ordering::Relaxed) {
                    let weak = self.downgrade();
                    node.watchers.add(|watching| watching.retaining.push((output, weak)));
                }
                Ok(())
            }
        }
    }

    /// Whether [`Tensor::retain_grad`] was called on this computed tensor.
    pub fn retains_grad(&self) -> bool {
        self.slot().extra_opt().is_some_and(|extra| extra.retains_grad.load(Ordering::Relaxed)) && !self.is_leaf()
    }
}
