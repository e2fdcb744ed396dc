//! Parts of a kernel whose operands are read and written where they lie: it runs on any strip of its matrix.

use opforge_core::Result;
use opforge_runtime::Strips;

use super::{Block, Elementwise, Loops};

impl<const K: usize> Strips for Elementwise<K> {
    fn shape(&self) -> [usize; 2] {
        match &self.loops {
            Loops::Empty => [0; 2],
            Loops::Row { len, .. } => [1, *len],
            Loops::Grid(grid) => [grid.rows, grid.cols],
        }
    }

    fn steps(&self) -> [[isize; 2]; 4] {
        const { assert!(K < 4) }
        let ((inputs, output), repeated) = (self.sizes, self.repeated());
        let mut steps = [[0, 0], [0, 0], [0, 0], [0, output as isize]];
        for k in 0..K {
            steps[k][1] = if repeated[k] { 0 } else { inputs[k] as isize };
        }
        if let Loops::Grid(grid) = &self.loops
            && grid.rows > 1
        {
            (0..K).for_each(|k| steps[k][0] = grid.input[k].row);
            steps[3][0] = grid.output.row;
        }
        steps
    }

    unsafe fn run_strip(&self, operands: &[*mut u8; 4], [rows, cols]: [usize; 2], steps: &[isize; 4]) -> Result<()> {
        let block = Block {
            rows,
            cols,
            input: std::array::from_fn(|k| operands[k].cast_const()),
            output: operands[3],
            input_row: std::array::from_fn(|k| steps[k]),
            output_row: steps[3],
            repeated: self.repeated(),
        };
        // SAFETY: the tensors are the caller's.
        let failed = unsafe { self.spec.step.run(&block) };
        if failed { Err(self.failure()) } else { Ok(()) }
    }
}

impl<const K: usize> Elementwise<K> {
    /// The inputs whose rows are one element each.
    fn repeated(&self) -> [bool; K] {
        match &self.loops {
            Loops::Empty => [false; K],
            Loops::Row { repeated, .. } => *repeated,
            Loops::Grid(grid) => std::array::from_fn(|k| grid.input[k].col == 0),
        }
    }
}
