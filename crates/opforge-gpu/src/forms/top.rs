//! The first few elements of lines in order. Each lane of a group keeps a sorted list of the first of its elements, and lists are merged in pairs. All of it
//! is exchanges of elements in registers (Batcher 1968).

use opforge_core::Result;

use crate::code::Code;
use crate::kernel::{INDEX, LANES};
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::value::{Array, Value};

use super::merge_sort::{Unsorted, greatest_key, key, key_dtype};
use super::scan::Lines;

/// Whether so many first elements are few enough, and their lines long enough but no more than groups go through.
pub(crate) fn are_few(from: &Unsorted<'_>, count: usize) -> bool {
    /// Lines that occupy a GPU with a group each, the shortest that are not sorted as quickly, and the longest where there are fewer.
    const PLENTY: usize = 256;
    const SHORTEST: usize = 512;
    const LONGEST: usize = 1 << 14;
    let len = from.len();
    count.next_power_of_two() * LANES <= from.slots() && len >= SHORTEST && (len <= LONGEST || from.lines() >= PLENTY)
}

/// Where the first elements of each line come from, each line by one group.
pub(crate) fn first_few(call: &Call<'_>, from: &Unsorted<'_>) -> Result<Program> {
    let (output, len) = (call.outputs[0], from.len());
    let count = output.dims()[from.axis];
    let kept = count.next_power_of_two();
    call.one(|k| {
        let x = Lines::new(k, from.place, from.meta, from.axis);
        let y = Lines::new(k, Place::Output(0), output, from.axis);
        let dtype = key_dtype(from.meta.dtype);
        let lists = Lists { keys: k.shared(dtype, kept * LANES), order: k.shared(INDEX, kept * LANES), kept };
        let (last, turns) = (k.size(len), k.size(len.div_ceil(kept * LANES)));
        let greatest = greatest_key(k, dtype);
        k.groups(from.lines(), |line| {
            k.lanes(LANES, |lane| {
                let best = best_of_turns(k, turns, |turn| {
                    let places = (0..kept).map(|n| (turn * kept + n) * LANES + lane);
                    let element = places.map(|i| {
                        let key = key(x.load(&x.at(line), i.min(last - 1)));
                        let key = i.lt(last).choose(if from.descending { !key } else { key }, greatest);
                        Element { key, origin: i }
                    });
                    element.collect()
                });
                lists.store(lane, &best);
            });
            lists.merge(k);
            k.lanes(count, |place| y.store(&y.at(line), place, lists.order.load(place * LANES)));
        });
        Ok(())
    })
}

/// The first of all lists that turns bring, sorted.
fn best_of_turns<'a>(k: &'a Code, turns: Value<'a>, next: impl Fn(Value<'a>) -> Vec<Element<'a>>) -> Vec<Element<'a>> {
    let best: Vec<_> = sorted(next(k.index(0))).iter().map(|of| [k.var(of.key), k.var(of.origin)]).collect();
    let now = || best.iter().map(|[key, origin]| Element { key: key.get(), origin: origin.get() }).collect::<Vec<_>>();
    k.repeat(turns - 1, |turn| {
        let better = first_of(now(), sorted(next(turn + 1)));
        for ([key, origin], element) in best.iter().zip(better) {
            key.set(element.key);
            origin.set(element.origin);
        }
    });
    now()
}

/// An element, and where it stands in its line: what is beyond the line comes after all of it.
#[derive(Clone, Copy)]
struct Element<'a> {
    key: Value<'a>,
    origin: Value<'a>,
}

impl<'a> Element<'a> {
    /// This and another, the one that comes first before the other.
    fn exchanged(self, other: Self) -> [Self; 2] {
        let tie = other.key.equals(self.key) & other.origin.lt(self.origin);
        let swap = other.key.lt(self.key) | tie;
        let pick =
            |a: Self, b: Self| Element { key: swap.choose(a.key, b.key), origin: swap.choose(a.origin, b.origin) };
        [pick(other, self), pick(self, other)]
    }
}

/// A list sorted that rises and then falls: its length is a power of two.
fn straightened(mut list: Vec<Element<'_>>) -> Vec<Element<'_>> {
    let mut distance = list.len() / 2;
    while distance > 0 {
        for i in (0..list.len()).filter(|i| i & distance == 0) {
            [list[i], list[i + distance]] = list[i].exchanged(list[i + distance]);
        }
        distance /= 2;
    }
    list
}

fn sorted(mut list: Vec<Element<'_>>) -> Vec<Element<'_>> {
    if list.len() < 2 {
        return list;
    }
    let right = sorted(list.split_off(list.len() / 2));
    straightened(sorted(list).into_iter().chain(right.into_iter().rev()).collect())
}

/// The first of two sorted lists, as many as each has.
fn first_of<'a>(a: Vec<Element<'a>>, b: Vec<Element<'a>>) -> Vec<Element<'a>> {
    straightened(a.into_iter().zip(b.into_iter().rev()).map(|(a, b)| a.exchanged(b)[0]).collect())
}

/// Lists of all lanes in memory of the group.
struct Lists<'a> {
    keys: Array<'a>,
    order: Array<'a>,
    kept: usize,
}

impl<'a> Lists<'a> {
    fn load(&self, lane: Value<'a>) -> Vec<Element<'a>> {
        let places = (0..self.kept).map(|n| lane + n * LANES);
        places.map(|at| Element { key: self.keys.load(at), origin: self.order.load(at) }).collect()
    }

    fn store(&self, lane: Value<'a>, list: &[Element<'a>]) {
        for (n, element) in list.iter().enumerate() {
            self.keys.store(lane + n * LANES, element.key);
            self.order.store(lane + n * LANES, element.origin);
        }
    }

    /// Brings the first of all lists to the first lane.
    fn merge(&self, k: &'a Code) {
        let half = k.var(k.index(LANES / 2));
        k.forever(|| {
            k.leave(half.get().equals(k.index(0)));
            k.lanes(LANES, |lane| {
                k.when(lane.lt(half.get()), || {
                    self.store(lane, &first_of(self.load(lane), self.load(lane + half.get())));
                });
            });
            half.set(half.get() / 2);
        });
    }
}
