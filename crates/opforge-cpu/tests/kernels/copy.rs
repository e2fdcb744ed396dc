//! Copies, flips, joins and triangles beside plain loops.

use std::sync::Arc;

use opforge_core::{DType, Layout, Meta, Result};
use opforge_cpu::copy::*;
use opforge_cpu::internals::Tile;
#[cfg(target_arch = "x86_64")]
use opforge_cpu::internals::baseline_tile;
use opforge_runtime::HostKernel;

/// Bytes that differ from element to element, for every size.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn meta(dtype: DType, layout: Layout) -> Meta {
    Meta { dtype, layout }
}

fn run(kernel: &dyn HostKernel, inputs: &[(&[u8], &Meta)], output: &Meta) -> Vec<u8> {
    let size = output.dtype.size_in_bytes();
    let mut out = vec![0xabu8; output.layout.span() * size];
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(data, m)| {
            let size = m.dtype.size_in_bytes();
            assert!(data.len() >= m.layout.span() * size);
            data[m.layout.start_offset().min(data.len() / size) * size..].as_ptr()
        })
        .collect();
    let first = out[output.layout.start_offset() * size..].as_mut_ptr();
    // SAFETY: the buffers hold the layouts' spans.
    unsafe { kernel.run(&inputs, &[first]) }.unwrap();
    out
}

/// Copies and compares element by element; what lies between the output's elements must not change.
fn check(input: &Meta, output: &Meta, axes: &[usize]) {
    let size = input.dtype.size_in_bytes();
    let data = pattern(input.layout.span() * size);
    let kernel = flip("copy", input, axes, output).unwrap();
    let got = run(&*kernel, &[(&data, input)], output);
    let mut expected = vec![0xabu8; got.len()];
    let sources: Vec<usize> = input.layout.indices().collect();
    let dims = input.dims();
    for (n, to) in output.layout.indices().enumerate() {
        let (mut rest, mut from, mut scale) = (n, 0, 1);
        for d in (0..dims.len()).rev() {
            let i = rest % dims[d];
            rest /= dims[d];
            from += scale * if axes.contains(&d) { dims[d] - 1 - i } else { i };
            scale *= dims[d];
        }
        let from = sources[from];
        expected[to * size..][..size].copy_from_slice(&data[from * size..][..size]);
    }
    assert!(got == expected, "{input:?} to {output:?}, flipped {axes:?}");
}

const DTYPES: [DType; 5] = [DType::U8, DType::BF16, DType::F32, DType::F64, DType::C128];

#[test]
fn any_layouts() {
    for dtype in DTYPES {
        let base = Layout::contiguous([3, 70, 2, 41]);
        let sliced = Layout::contiguous([6, 80, 4, 50]).slice(0, 1, 6, 2).unwrap();
        let sliced = sliced.narrow(1, 3, 70).unwrap().slice(2, 0, 4, 2).unwrap().narrow(3, 9, 41).unwrap();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 3, 1, 2], [0, 2, 3, 1], [1, 0, 3, 2], [2, 3, 0, 1]] {
            for source in [&base, &sliced] {
                let source = source.permute(&order).unwrap();
                let plain = Layout::contiguous(source.shape().clone());
                check(&meta(dtype, source.clone()), &meta(dtype, plain.clone()), &[]);
                check(&meta(dtype, plain), &meta(dtype, source), &[]);
            }
        }
    }
}

#[test]
fn transposes_of_every_edge() {
    for dtype in DTYPES {
        for (m, n) in [(1, 9), (2, 2), (7, 65), (64, 64), (129, 130), (200, 3), (5, 300)] {
            let source = Layout::contiguous([m, n]).transpose(0, 1).unwrap();
            check(&meta(dtype, source), &Meta::contiguous(dtype, [n, m]), &[]);
        }
    }
}

#[test]
fn large_enough_for_threads() {
    let source = Layout::contiguous([3, 300, 500]);
    for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2]] {
        let source = source.permute(&order).unwrap();
        let output = Meta::contiguous(DType::F32, source.shape().clone());
        check(&meta(DType::F32, source.clone()), &output, &[]);
        check(&meta(DType::F32, source), &output, &[2]);
    }
}

#[test]
fn long_rows_of_another_alignment() {
    let source = Layout::contiguous([3, 9000]).narrow(1, 7, 8990).unwrap();
    for dtype in DTYPES {
        check(&meta(dtype, source.clone()), &Meta::contiguous(dtype, [3, 8990]), &[]);
    }
}

#[test]
fn broadcasts() {
    for dtype in DTYPES {
        for from in [vec![1], vec![17], vec![4, 1], vec![3, 1, 1], vec![3, 1, 17], vec![3, 4, 1]] {
            let to = [3, 4, 17].into();
            let source = Layout::contiguous(from).broadcast_as(&to, "expand").unwrap();
            check(&meta(dtype, source), &Meta::contiguous(dtype, to), &[]);
        }
    }
}

#[test]
fn flips() {
    for dtype in DTYPES {
        for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2], &[1, 1]] {
            let output = Meta::contiguous(dtype, [5, 33, 18]);
            check(&output, &output, axes);
            let source = Layout::contiguous([18, 33, 5]).permute(&[2, 1, 0]).unwrap();
            check(&meta(dtype, source), &output, axes);
        }
    }
}

#[test]
fn short_rows_read_backwards() {
    for dtype in DTYPES {
        for rows in [2, 7, 50_000] {
            for n in 2..=9 {
                let output = Meta::contiguous(dtype, [rows, n]);
                check(&output, &output, &[1]);
            }
        }
    }
}

#[test]
fn runs_of_every_length() {
    for n in 1..=70 {
        let (rows, wide) = (Layout::contiguous([5, n]), Layout::contiguous([5, 75]).narrow(1, 3, n).unwrap());
        for (input, output) in [(&rows, &rows), (&rows, &wide), (&wide, &rows), (&wide, &wide)] {
            let [input, output] = [input, output].map(|layout| meta(DType::U8, layout.clone()));
            check(&input, &output, &[]);
            check(&input, &output, &[0]);
        }
    }
}

/// Short runs within loops whose inner one is short, long, or repeats them, in rows enough for threads and not.
#[test]
fn short_runs_within_loops() {
    for n in [1, 2, 3, 5, 8, 12, 16, 20, 31, 40, 63] {
        for rows in [3, 9000] {
            for times in [2, 5, 9] {
                let apart = Layout::contiguous([rows, times, n + 1]).narrow(2, 1, n).unwrap();
                let repeated =
                    Layout::contiguous([rows, 1, n]).broadcast_as(&[rows, times, n].into(), "expand").unwrap();
                let tiled = Layout::contiguous([1, times, n]).broadcast_as(&[rows, times, n].into(), "expand").unwrap();
                let turned = Layout::contiguous([times, rows, n]).transpose(0, 1).unwrap();
                for source in [apart, repeated, tiled, turned] {
                    let output = Meta::contiguous(DType::U8, [rows, times, n]);
                    check(&meta(DType::U8, source.clone()), &output, &[]);
                    check(&meta(DType::U8, source), &output, &[0]);
                }
            }
        }
    }
}

#[test]
fn turned_matrices() {
    for dtype in DTYPES {
        for (m, n) in [(1, 9), (7, 65), (64, 64), (129, 130), (200, 3), (5, 300)] {
            let source = Layout::contiguous([m, n]).transpose(0, 1).unwrap();
            for axes in [&[0][..], &[1], &[0, 1]] {
                check(&meta(dtype, source.clone()), &Meta::contiguous(dtype, [n, m]), axes);
            }
        }
    }
}

#[test]
fn elements_repeated() {
    for dtype in DTYPES {
        for (rows, times) in [(5, 1), (5, 2), (7, 3), (6, 4), (9, 5), (3, 40), (9, 70), (40, 33)] {
            let every = Layout::contiguous([rows, 1]);
            let second = Layout::contiguous([2 * rows, 1]).slice(0, 0, 2 * rows, 2).unwrap();
            for source in [every, second] {
                let source = source.broadcast_as(&[rows, times].into(), "expand").unwrap();
                check(&meta(dtype, source.clone()), &Meta::contiguous(dtype, [rows, times]), &[]);
                check(&meta(dtype, source), &Meta::contiguous(dtype, [rows, times]), &[0]);
            }
        }
    }
}

#[test]
fn extended_beyond_the_edges() {
    use opforge_tile::forms::Beyond;
    let dims = [3, 2, 4];
    let sources = [Layout::contiguous(dims), Layout::contiguous([4, 2, 3]).permute(&[2, 1, 0]).unwrap()];
    for dtype in DTYPES {
        for (before, after) in
            [([1, 0, 2], [0, 0, 3]), ([2, 1, 0], [2, 1, 0]), ([0; 3], [0; 3]), ([0, 1, 3], [0, 0, 1])]
        {
            for beyond in [Beyond::Reflected, Beyond::Repeated, Beyond::Wrapped] {
                for source in &sources {
                    let input = meta(dtype, source.clone());
                    let long = [0, 1, 2].map(|d| before[d] + dims[d] + after[d]);
                    let output = Meta::contiguous(dtype, long);
                    let Ok(kernel) = extend("pad", &input, &before, beyond, &output) else {
                        // Of two elements the mirror shows one more on each side.
                        panic!("{before:?} {after:?} {beyond:?}");
                    };
                    let size = dtype.size_in_bytes();
                    let data = pattern(source.span() * size);
                    let got = run(&*kernel, &[(&data, &input)], &output);
                    let places: Vec<usize> = source.indices().collect();
                    for (n, element) in got.chunks_exact(size).enumerate() {
                        let at = [n / long[2] / long[1], n / long[2] % long[1], n % long[2]];
                        let from = [0, 1, 2].map(|d| {
                            let (i, len) = (at[d] as i64 - before[d] as i64, dims[d] as i64);
                            let place = match beyond {
                                _ if (0..len).contains(&i) => i,
                                Beyond::Reflected if i < 0 => -i,
                                Beyond::Reflected => 2 * len - 2 - i,
                                Beyond::Repeated => i.clamp(0, len - 1),
                                Beyond::Wrapped => i.rem_euclid(len),
                            };
                            place as usize
                        });
                        let from = places[(from[0] * dims[1] + from[1]) * dims[2] + from[2]] * size;
                        assert_eq!(element, &data[from..][..size], "{before:?} {beyond:?} {at:?}");
                    }
                }
            }
        }
    }
    let output = Meta::contiguous(DType::F32, [7]);
    assert!(extend("pad", &Meta::contiguous(DType::F32, [3]), &[3], Beyond::Reflected, &output).is_err());
    assert!(extend("pad", &Meta::contiguous(DType::F32, [0]), &[3], Beyond::Repeated, &output).is_err());
}

#[test]
fn scalars_and_empty() {
    let scalar = Meta::contiguous(DType::F32, ());
    check(&scalar, &scalar, &[]);
    for dims in [vec![0], vec![3, 0], vec![0, 3, 2]] {
        let empty = Meta::contiguous(DType::F64, dims);
        check(&empty, &empty, &[0]);
    }
}

#[test]
fn narrow_tiles() {
    for size in [1usize, 2, 4, 8, 16] {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut tiles = vec![Tile::new(size)];
        #[cfg(target_arch = "x86_64")]
        if let Some((side, full)) = baseline_tile(size) {
            tiles.push(Tile { side, full, part: Tile::new(size).part });
        }
        for tile in tiles {
            let n = tile.side;
            let data = pattern(n * n * size);
            let mut out = vec![0u8; data.len()];
            let step = (n * size) as isize;
            // SAFETY: both buffers hold n rows of n elements.
            unsafe { (tile.full)(data.as_ptr(), step, out.as_mut_ptr(), step) };
            for (i, element) in out.chunks_exact(size).enumerate() {
                let from = (i % n * n + i / n) * size;
                assert_eq!(element, &data[from..from + size], "side {n}, element {i}");
            }
        }
    }
}

#[test]
fn cats() {
    for dtype in DTYPES {
        let size = dtype.size_in_bytes();
        for axis in 0..3 {
            let lens = [2usize, 0, 5, 1];
            let mut dims = [3, 4, 6];
            dims[axis] = lens.iter().sum();
            let output = Meta::contiguous(dtype, dims);
            let metas: Vec<Meta> = lens
                .iter()
                .map(|&len| {
                    let mut part = dims;
                    part[axis] = len;
                    part.swap(0, 2);
                    meta(dtype, Layout::contiguous(part).transpose(0, 2).unwrap())
                })
                .collect();
            let kernel = cat("cat", &metas.iter().collect::<Vec<_>>(), axis, &output).unwrap();
            let data: Vec<Vec<u8>> = metas.iter().map(|m| pattern(m.layout.span() * size)).collect();
            let inputs: Vec<(&[u8], &Meta)> = data.iter().map(|d| d.as_slice()).zip(&metas).collect();
            let got = run(&*kernel, &inputs, &output);
            let mut start = 0;
            for (data, m) in inputs {
                let part = output.layout.narrow(axis, start, m.dims()[axis]).unwrap();
                for (from, to) in m.layout.indices().zip(part.indices()) {
                    assert_eq!(got[to * size..][..size], data[from * size..][..size]);
                }
                start += m.dims()[axis];
            }
        }
    }
}

#[test]
fn cats_of_short_rows() {
    for rows in [1, 5, 20_000] {
        for parts in [[1, 1, 1], [1, 2, 3], [31, 1, 8], [12, 64, 65], [4, 300, 4]] {
            let output = Meta::contiguous(DType::U8, [rows, parts.iter().sum()]);
            let source = Layout::contiguous([rows, 310]);
            let metas = parts.map(|n| meta(DType::U8, source.narrow(1, 5, n).unwrap()));
            let data = pattern(source.span());
            let kernel = cat("cat", &metas.each_ref(), 1, &output).unwrap();
            let got = run(&*kernel, &metas.each_ref().map(|m| (data.as_slice(), m)), &output);
            let row = |row: usize| parts.into_iter().flat_map(move |n| row * 310 + 5..row * 310 + 5 + n);
            let expected: Vec<u8> = (0..rows).flat_map(row).map(|at| data[at]).collect();
            assert!(got == expected, "{rows} rows of {parts:?}");
        }
    }
}

/// Rows that are written in order, of runs of any alignment: of an output that is smaller and larger than what is written past the caches.
#[test]
fn cats_of_long_rows() {
    for (rows, parts) in [(3, [7, 2041, 120]), (1500, [7, 1300, 200]), (600, [1024, 2048, 1024])] {
        let output = Meta::contiguous(DType::F32, [rows, parts.iter().sum()]);
        let source = Layout::contiguous([rows, 4096]);
        let metas = parts.map(|n| meta(DType::F32, source.narrow(1, 5 % (n + 1), n).unwrap()));
        let data = pattern(source.span() * 4);
        let kernel = cat("cat", &metas.each_ref(), 1, &output).unwrap();
        let got = run(&*kernel, &metas.each_ref().map(|m| (data.as_slice(), m)), &output);
        let mut expected = Vec::with_capacity(got.len());
        for row in 0..rows {
            for m in &metas {
                let first = 4 * (m.layout.start_offset() + row * 4096);
                expected.extend_from_slice(&data[first..first + 4 * m.dims()[1]]);
            }
        }
        assert!(got == expected, "{rows} rows of {parts:?}");
    }
    let wide = Layout::contiguous([1100, 4096]).narrow(1, 5, 2100).unwrap();
    check(&meta(DType::F32, wide), &Meta::contiguous(DType::F32, [1100, 2100]), &[]);
}

#[test]
fn refusals() {
    use opforge_core::ErrorKind;
    let kind = |r: Result<Arc<dyn HostKernel>>| r.err().unwrap().kind();
    let m = Meta::contiguous(DType::F32, [2, 3]);
    assert_eq!(kind(copy("copy", &m, &Meta::contiguous(DType::F32, [3, 2]))), ErrorKind::Shape);
    assert_eq!(kind(copy("copy", &m, &Meta::contiguous(DType::F64, [2, 3]))), ErrorKind::DType);
    assert_eq!(kind(flip("flip", &m, &[2], &m)), ErrorKind::Index);
    let repeated = meta(DType::F32, Layout::contiguous([1, 3]).broadcast_as(&[2, 3].into(), "expand").unwrap());
    assert_eq!(kind(copy("copy", &m, &repeated)), ErrorKind::Value);
    assert_eq!(kind(cat("cat", &[&m, &m], 0, &m)), ErrorKind::Index);
    assert_eq!(kind(cat("cat", &[&m], 5, &m)), ErrorKind::Shape);
    assert_eq!(kind(cat("cat", &[], 0, &m)), ErrorKind::Shape);
}
