//! Calls that wait in the VM's queue, made one kernel where they go together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use opforge_runtime::vm::{self, Fused, Fuser, Place, Waiting, Window};
use smallvec::SmallVec;

use crate::fusion::{Access, Chain, Part};

/// Programs that a thread remembers.
const MOST: usize = 256;

/// Has the VM run calls together that [`Chain`] can join.
pub(super) fn start() {
    vm::set_fuser(&Chains);
}

struct Chains;

thread_local! {
    static KNOWN: RefCell<HashMap<Key, Option<Fused>>> = RefCell::new(HashMap::new());
}

/// What tells windows apart. Parts are told by their addresses, which they keep as long as they are here.
#[derive(PartialEq, Eq, Hash)]
struct Key(SmallVec<[Call; 8]>);

struct Call {
    part: Arc<vm::Part>,
    places: SmallVec<[(Place, bool); 4]>,
}

impl Call {
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.part).cast()
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.address() == other.address() && self.places == other.places
    }
}
impl Eq for Call {}
impl std::hash::Hash for Call {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.address().hash(state);
        self.places.hash(state);
    }
}

impl Key {
    fn new(window: &Window) -> Self {
        let count = window.calls.len();
        let known = |place: &Place| (*place, window.is_wanted(place.storage, count));
        let call = |call: &Waiting| Call {
            part: call.part.clone(),
            places: call.inputs.iter().chain(&call.outputs).map(known).collect(),
        };
        Key(window.calls.iter().map(call).collect())
    }
}

impl Fuser for Chains {
    fn fuse(&self, waiting: &Window) -> Option<Fused> {
        let key = Key::new(waiting);
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
            return known;
        }
        let fused = fuse(waiting);
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, fused.clone());
        });
        fused
    }
}

/// The kernel of as many calls as a chain takes; none where it takes the first alone.
fn fuse(window: &Window) -> Option<Fused> {
    let mut chain = Chain::default();
    for call in &window.calls {
        let Some(part) = call.part.downcast_ref::<Part>() else { break };
        if chain.push(part, &accesses(&call.inputs), &accesses(&call.outputs)).is_err() {
            break;
        }
    }
    let calls = chain.len();
    if calls < 2 {
        return None;
    }
    let fused = chain.fuse(|storage| window.is_wanted(storage, calls)).ok()?;
    let places = |accesses: &[Access]| {
        let place = |access: &Access| Place { storage: access.storage, byte_offset: access.byte_offset };
        accesses.iter().map(place).collect::<Vec<Place>>()
    };
    let (inputs, outputs) = (places(&fused.inputs).into(), places(&fused.outputs).into());
    Some(Fused { calls, kernel: fused.kernel, inputs, outputs })
}

fn accesses(places: &[Place]) -> Vec<Access> {
    places.iter().map(|place| Access { storage: place.storage, byte_offset: place.byte_offset }).collect()
}
