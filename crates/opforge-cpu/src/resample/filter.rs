//! Interpolation filters: which elements of a dimension each new element is made of, with which weights.

use opforge_core::Result;
use opforge_runtime::checkpoint;
use opforge_tile::forms::{Filter, Stretch};

use super::taps::Taps;

/// What each of `to` elements takes of `from` ones, at least one.
pub fn taps(stretch: &Stretch, from: usize, to: usize) -> Result<Taps> {
    let map = Map { scale: stretch.scale.to_f64(), from, to, corners: stretch.corners };
    let mut taps = Taps::new(to)?;
    for i in 0..to {
        match stretch.filter {
            // In f32, as positions are defined.
            Filter::Nearest => taps.take(map.clamped(f64::from((i as f32 * map.scale as f32).floor())), 1.0)?,
            Filter::NearestExact => {
                taps.take(map.clamped(f64::from(((i as f32 + 0.5) * map.scale as f32).floor())), 1.0)?;
            }
            Filter::Linear => {
                let place = map.position(i).max(0.0);
                let weight = place - place.floor();
                taps.take(map.clamped(place), 1.0 - weight)?;
                taps.take(map.clamped(place + 1.0), weight)?;
            }
            Filter::Cubic => {
                let place = map.position(i);
                for k in -1..3 {
                    let at = place.floor() + f64::from(k);
                    taps.take(map.clamped(at), keys(place - at, -0.75))?;
                }
            }
            Filter::Triangle => map.spread(&mut taps, i, 1.0, |x| (1.0 - x.abs()).max(0.0))?,
            Filter::SmoothCubic => map.spread(&mut taps, i, 2.0, |x| keys(x, -0.5))?,
        }
        taps.end_element()?;
    }
    Ok(taps)
}

/// The cubic filter of Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981).
fn keys(x: f64, a: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    }
}

/// One dimension's new elements among the old ones.
struct Map {
    scale: f64,
    from: usize,
    to: usize,
    corners: bool,
}

impl Map {
    /// Where element `i` lies among the old ones.
    fn position(&self, i: usize) -> f64 {
        match self.corners {
            true => i as f64 * self.distance(),
            false => (i as f64 + 0.5) * self.scale - 0.5,
        }
    }

    /// How far apart new elements are among the old ones.
    fn distance(&self) -> f64 {
        match (self.corners, self.to) {
            (true, 0 | 1) => 0.0,
            (true, to) => (self.from - 1) as f64 / (to - 1) as f64,
            (false, _) => self.scale,
        }
    }

    fn clamped(&self, place: f64) -> usize {
        place.clamp(0.0, (self.from - 1) as f64) as usize
    }

    /// The weights of a filter that reaches `reach` elements to either side, stretched where elements become fewer.
    fn spread(&self, taps: &mut Taps, i: usize, reach: f64, filter: impl Fn(f64) -> f64) -> Result<()> {
        let stretch = self.distance().max(1.0);
        let centre = self.distance() * (i as f64 + 0.5);
        let first = self.clamped((centre - reach * stretch + 0.5).trunc());
        let end = ((centre + reach * stretch + 0.5) as usize).clamp(first + 1, self.from);
        let weight = |j: usize| {
            checkpoint();
            filter((j as f64 - centre + 0.5) / stretch)
        };
        let total: f64 = (first..end).map(weight).sum();
        (first..end).try_for_each(|j| taps.take(j, weight(j) / total))
    }
}
