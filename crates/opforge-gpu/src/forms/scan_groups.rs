//! Running results of long lines. A group goes along a line in chunks, of which each lane has a few consecutive elements. Very long lines are split into parts:
//! launches make the state of each part, run along these, and then along the elements of each part from there on.

use opforge_core::{DType, Result};

use crate::code::Code;
use crate::kernel::LANES;
use crate::lower::Target;
use crate::program::{Place, Program};
use crate::team::GROUPS;
use crate::tensor::Tensor;
use crate::value::{Array, Value, Var};

use super::scan::{States, get, set, vars};

/// How many elements of a line a group has, so that there are groups enough: a multiple of what it takes at once.
pub(crate) fn part_of(lines: usize, len: usize, at_once: usize) -> usize {
    let wanted = GROUPS / lines.max(1);
    let split = if wanted < 4 || len < 8 * at_once { 1 } else { wanted };
    len.div_ceil(split).next_multiple_of(at_once).max(at_once)
}

/// The state of an element, by its line's number and its place in the line.
type StateOf<'a> = dyn Fn(Value<'a>, Value<'a>) -> Vec<Value<'a>> + 'a;

/// What becomes of the running state up to an element, by its line's number and its place in the line.
type Keep<'a> = dyn Fn(Value<'a>, Value<'a>, &[Value<'a>]) + 'a;

/// What a kernel of running results begins and ends with.
pub(crate) struct Ends<'a> {
    pub state: Box<StateOf<'a>>,
    pub keep: Box<Keep<'a>>,
}

/// The launches that run along `lines` lines of `len` elements.
pub(crate) fn run(
    target: &Target,
    program: &mut Program,
    of: &States,
    [lines, len]: [usize; 2],
    ends: impl for<'a> Fn(&'a Code) -> Ends<'a>,
) -> Result<()> {
    let part = part_of(lines, len, LANES * elements_of_lane(of));
    let parts = Parts { target, of, lines, len, part, count: len.div_ceil(part).max(1) };
    if parts.count == 1 {
        return parts.results(program, &[], ends);
    }
    let totals: Vec<Place> = of.dtypes.iter().map(|&dtype| program.scratch(dtype, lines * parts.count)).collect();
    parts.totals(program, &totals, &ends)?;
    parts.run_along_totals(program, &totals)?;
    parts.results(program, &totals, ends)
}

/// Elements of a chunk that a lane has: an odd number, so that lanes meet different banks of memory; states fill less than 16 KiB, which WGSL promises.
fn elements_of_lane(of: &States) -> usize {
    if of.dtypes.iter().map(|dtype| dtype.size_in_bytes()).sum::<usize>() > 8 { 3 } else { 5 }
}

/// Lines of `len` elements in `count` parts of `part` each, but for the last one.
struct Parts<'p> {
    target: &'p Target,
    of: &'p States,
    lines: usize,
    len: usize,
    part: usize,
    count: usize,
}

/// A part that a group has.
struct Part<'a> {
    /// Its number among those of all lines.
    number: Value<'a>,
    line: Value<'a>,
    is_first: Value<'a>,
    /// Its first element.
    first: Value<'a>,
    count: Value<'a>,
}

impl Parts<'_> {
    fn each<'a>(&self, k: &'a Code, body: impl FnOnce(Part<'a>)) {
        let (count, part, len) = (k.size(self.count), k.size(self.part), k.size(self.len));
        k.groups(self.lines * self.count, |number| {
            let (line, place) = (number / count, number % count);
            let first = place * part;
            body(Part { number, line, is_first: place.equals(k.index(0)), first, count: (len - first).min(part) });
        });
    }

    /// The state of every part. The last one's of a line, which may be cut, is not used.
    fn totals(
        &self,
        program: &mut Program,
        totals: &[Place],
        ends: impl for<'a> Fn(&'a Code) -> Ends<'a>,
    ) -> Result<()> {
        program.launch(self.target, |k| {
            let (ends, room, totals) = (ends(k), Room::new(k, self.of), tensors(k, self.of, totals, true));
            self.each(k, |part| {
                let state = |i| (ends.state)(part.line, part.first + i);
                let start = self.of.start(k, || state(k.index(0)));
                room.walk(&start, part.count, state, |_, _| {});
                k.lanes(1, |lane| store_at(&totals, part.number, &load(&room.carry, lane)));
            });
            Ok(())
        })
    }

    fn run_along_totals(&self, program: &mut Program, totals: &[Place]) -> Result<()> {
        program.launch(self.target, |k| {
            let (room, totals, count) = (Room::new(k, self.of), tensors(k, self.of, totals, true), k.size(self.count));
            k.groups(self.lines, |line| {
                let state = |i| load_at(&totals, line * count + i);
                let start = self.of.start(k, || state(k.index(0)));
                room.walk(&start, count, state, |i, state| store_at(&totals, line * count + i, state));
            });
            Ok(())
        })
    }

    /// The results, from the states before each part on.
    fn results(
        &self,
        program: &mut Program,
        totals: &[Place],
        ends: impl for<'a> Fn(&'a Code) -> Ends<'a>,
    ) -> Result<()> {
        program.launch(self.target, |k| {
            let (ends, room, totals) = (ends(k), Room::new(k, self.of), tensors(k, self.of, totals, false));
            self.each(k, |part| {
                let state = |i| (ends.state)(part.line, part.first + i);
                let start: Vec<Var<'_>> = vars(&self.of.start(k, || state(k.index(0))));
                if !totals.is_empty() {
                    k.when(!part.is_first, || set(&start, &load_at(&totals, part.number - 1)));
                }
                room.walk(&get(&start), part.count, state, |i, state| (ends.keep)(part.line, part.first + i, state));
            });
            Ok(())
        })
    }
}

/// A vector of each value of states.
fn tensors<'a>(k: &'a Code, of: &States, places: &[Place], written: bool) -> Vec<Tensor<'a>> {
    let tensor = |(&place, &dtype): (&Place, &DType)| k.strided(place, dtype, &[], &[], written);
    places.iter().zip(&of.dtypes).map(tensor).collect()
}

/// What lanes share: an array of each value of states.
struct Room<'a, 's> {
    k: &'a Code,
    of: &'s States,
    /// Elements of a lane.
    each: usize,
    /// Those of a chunk's elements.
    elements: Vec<Array<'a>>,
    /// Twice those of lanes.
    totals: Vec<Array<'a>>,
    /// That of what comes before a chunk.
    carry: Vec<Array<'a>>,
}

fn load_at<'a>(tensors: &[Tensor<'a>], at: Value<'a>) -> Vec<Value<'a>> {
    tensors.iter().map(|tensor| tensor.load_at(at)).collect()
}

fn store_at<'a>(tensors: &[Tensor<'a>], at: Value<'a>, state: &[Value<'a>]) {
    tensors.iter().zip(state).for_each(|(tensor, &value)| tensor.store_at(at, value));
}

fn load<'a>(arrays: &[Array<'a>], at: Value<'a>) -> Vec<Value<'a>> {
    arrays.iter().map(|array| array.load(at)).collect()
}

fn store<'a>(arrays: &[Array<'a>], at: Value<'a>, state: &[Value<'a>]) {
    arrays.iter().zip(state).for_each(|(array, &value)| array.store(at, value));
}

impl<'a, 's> Room<'a, 's> {
    fn new(k: &'a Code, of: &'s States) -> Self {
        let each = elements_of_lane(of);
        let arrays = |len| of.dtypes.iter().map(|&dtype| k.shared(dtype, len)).collect();
        Room { k, of, each, elements: arrays(LANES * each), totals: arrays(2 * LANES), carry: arrays(1) }
    }

    /// Goes along `count` elements of these states; `keep` is given the running state of each. `carry` is then that of all, if `count` is a multiple of a
    /// chunk.
    fn walk(
        &self,
        start: &[Value<'a>],
        count: Value<'a>,
        state: impl FnOnce(Value<'a>) -> Vec<Value<'a>>,
        keep: impl FnOnce(Value<'a>, &[Value<'a>]),
    ) {
        let (k, chunk) = (self.k, LANES * self.each);
        k.lanes(1, |lane| store(&self.carry, lane, start));
        k.repeat((count + (chunk - 1)) / chunk, |turn| {
            let first = turn * chunk;
            // What would be beyond the last element repeats it: nothing comes after that.
            self.each_slot(|slot| store(&self.elements, slot, &state((first + slot).min(count - 1))));
            self.run_in_lanes();
            self.run_along_lanes();
            self.add_what_is_before();
            self.each_slot(|slot| {
                let i = first + slot;
                k.when(i.lt(count), || keep(i, &load(&self.elements, slot)));
            });
            k.lanes(1, |lane| {
                let all = self.of.combined(&load(&self.carry, lane), &load(&self.totals, k.index(LANES - 1)));
                store(&self.carry, lane, &all);
            });
        });
    }

    /// Lanes go through the chunk, neighbours side by side.
    fn each_slot(&self, body: impl FnOnce(Value<'a>)) {
        self.k.lanes(LANES, |lane| self.k.repeat(self.k.index(self.each), |turn| body(turn * LANES + lane)));
    }

    /// Each lane runs along its own elements.
    fn run_in_lanes(&self) {
        let k = self.k;
        k.lanes(LANES, |lane| {
            let own = lane * self.each;
            let all = vars(&load(&self.elements, own));
            k.repeat(k.index(self.each - 1), |i| {
                let slot = own + i + 1;
                let next = self.of.combined(&get(&all), &load(&self.elements, slot));
                set(&all, &next);
                store(&self.elements, slot, &next);
            });
            store(&self.totals, lane, &get(&all));
        });
    }

    /// The state of each lane becomes that of all lanes up to it (Hillis and Steele 1986), to and fro between the halves of `totals`.
    fn run_along_lanes(&self) {
        let k = self.k;
        for step in 0..LANES.ilog2() as usize {
            let (from, distance) = (step % 2 * LANES, 1 << step);
            let to = LANES - from;
            k.lanes(LANES, |lane| {
                let own = load(&self.totals, lane + from);
                k.either(
                    lane.lt(k.index(distance)),
                    || store(&self.totals, lane + to, &own),
                    || {
                        let before = load(&self.totals, lane + from - distance);
                        store(&self.totals, lane + to, &self.of.combined(&before, &own));
                    },
                );
            });
        }
    }

    fn add_what_is_before(&self) {
        let k = self.k;
        k.lanes(LANES, |lane| {
            let before = vars(&load(&self.carry, k.index(0)));
            k.when(k.index(0).lt(lane), || {
                set(&before, &self.of.combined(&get(&before), &load(&self.totals, lane - 1)));
            });
            k.repeat(k.index(self.each), |i| {
                let slot = lane * self.each + i;
                store(&self.elements, slot, &self.of.combined(&get(&before), &load(&self.elements, slot)));
            });
        });
    }
}
