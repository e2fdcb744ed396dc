//! Calls of single elements that follow each other: they run one after the other on strips of a block, which are so small that what passes between them
//! stays in the first level of cache, and that memory is read while it is written.

use opforge_core::Result;

use super::group::{Candidates, Group};
use super::steps::{Place, Step, Tensors, run_step};

/// How calls run on blocks: the runs of each size of a block, in order.
pub(super) struct Plans {
    runs: Vec<Vec<Run>>,
    /// The working memory that the calls and their strips take.
    pub bytes: usize,
}

impl Plans {
    /// Plans for blocks of so many sizes. `read_after` are places that are read when all calls have run; the calls themselves take `local_bytes`.
    pub fn new(steps: &[Step], sizes: usize, read_after: &[Place], local_bytes: usize) -> Self {
        let plans = (0..sizes).map(|size| plan(steps, size, read_after, local_bytes));
        let (runs, rooms): (Vec<Vec<Run>>, Vec<usize>) = plans.unzip();
        Plans { runs, bytes: local_bytes + rooms.into_iter().max().unwrap_or(0) }
    }

    /// Runs calls in order on a block: of which size it is, and where it is along each loop.
    ///
    /// # Safety
    /// The plans were made for these steps, and the kernels of this size for the blocks of these tensors; `local` has so much working memory, which nobody
    /// else uses.
    pub unsafe fn run(
        &self,
        (steps, size): (&[Step], usize),
        tensors: &Tensors<'_>,
        local: *mut u8,
        at: &[usize],
    ) -> Result<()> {
        for run in &self.runs[size] {
            // SAFETY: as the caller vouches.
            unsafe {
                match run {
                    Run::Whole(number) => run_step(&steps[*number], size, tensors, local, at)?,
                    Run::Strips(group) => group.run(steps, tensors, local, at)?,
                }
            }
        }
        Ok(())
    }
}

/// What runs on a block, in its order.
enum Run {
    /// The call of this number.
    Whole(usize),
    Strips(Group),
}

/// The runs of these calls on blocks of a size, and the working memory that they take, which begins at `rooms`. `read_after` are places that are read when
/// all have run.
fn plan(steps: &[Step], size: usize, read_after: &[Place], rooms: usize) -> (Vec<Run>, usize) {
    let (mut runs, mut bytes, mut first) = (Vec::new(), 0, 0);
    while first < steps.len() {
        let candidates = Candidates::from(steps, size, first);
        let end = first + candidates.kernels.len();
        if candidates.kernels.len() > 1 {
            let is_own = |place: Place| {
                let others = steps[..first].iter().chain(&steps[end..]).flat_map(Step::operands);
                matches!(place, Place::Local(_))
                    && !read_after.contains(&place)
                    && others.map(|operand| operand.place).all(|other| other != place)
            };
            let (group, taken) = candidates.group(steps, first, is_own, rooms);
            bytes = bytes.max(taken);
            runs.push(Run::Strips(group));
            first = end;
        } else {
            runs.push(Run::Whole(first));
            first += 1;
        }
    }
    (runs, bytes)
}
