//! More of what is measured, written once like `cases.rs`: operators of networks, of indices and of order.

use super::cases::{CPU, F32, case, random};
use super::lib::{D, Result, Tensor};
use super::{batch_norm, group_norm, rms_norm, upsample_bilinear, upsample_nearest};
use crate::case::{Case, Work};

/// A batch of images, eight million elements.
const IMAGES: [usize; 4] = [16, 64, 88, 88];
const ROWS: usize = 2048;
const COLUMNS: usize = 1024;

fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// A function of two random tensors.
fn of_two(
    name: &str,
    work: Work,
    a: &[usize],
    b: &[usize],
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + 'static,
) -> Case {
    let (a, b) = (a.to_vec(), b.to_vec());
    case(name, work, move || {
        let (a, b) = (random(&a)?, random(&b)?);
        Ok(Box::new(move || f(&a, &b)))
    })
}

fn of_one(name: &str, work: Work, shape: &[usize], f: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Case {
    of_two(name, work, shape, &[1], move |x, _| f(x))
}

/// Irregular indices below `below`.
fn indices(shape: &[usize], below: usize) -> Result<Tensor> {
    let numbers = (0..count(shape) as u32).map(|i| i.wrapping_mul(2_654_435_761) % below as u32);
    Tensor::from_vec(numbers.collect::<Vec<u32>>(), shape, CPU)
}

fn convolutions() -> Vec<Case> {
    let flops = |outputs: [usize; 3], sum: usize| Work::Flops(2 * count(&outputs) * sum);
    vec![
        of_two(
            "conv2d 16x16x28x28 to 32, 3x3",
            flops([16, 32, 28 * 28], 16 * 9),
            &[16, 16, 28, 28],
            &[32, 16, 3, 3],
            |x, w| x.conv2d(w, 1, 1, 1, 1),
        ),
        of_two(
            "conv2d 8x64x56x56 to 64, 3x3",
            flops([8, 64, 56 * 56], 64 * 9),
            &[8, 64, 56, 56],
            &[64, 64, 3, 3],
            |x, w| x.conv2d(w, 1, 1, 1, 1),
        ),
        of_two(
            "conv2d 8x3x112x112 to 64, 7x7, stride 2",
            flops([8, 64, 56 * 56], 3 * 49),
            &[8, 3, 112, 112],
            &[64, 3, 7, 7],
            |x, w| x.conv2d(w, 3, 2, 1, 1),
        ),
        of_two(
            "conv2d 8x64x56x56, 3x3, depthwise",
            flops([8, 64, 56 * 56], 9),
            &[8, 64, 56, 56],
            &[64, 1, 3, 3],
            |x, w| x.conv2d(w, 1, 1, 1, 64),
        ),
        of_two("conv1d 16x64x512 to 64, 3", flops([16, 64, 512], 64 * 3), &[16, 64, 512], &[64, 64, 3], |x, w| {
            x.conv1d(w, 1, 1, 1, 1)
        }),
        of_two(
            "conv_transpose2d 8x64x16x16 to 32, 4x4, stride 2",
            flops([8, 64, 16 * 16], 32 * 16),
            &[8, 64, 16, 16],
            &[64, 32, 4, 4],
            |x, w| x.conv_transpose2d(w, 1, 0, 2, 1),
        ),
    ]
}

fn of_images() -> Vec<Case> {
    let copy = |n: usize| Work::Copy(n * F32);
    let all = count(&IMAGES);
    vec![
        of_one("max_pool2d, 2x2", copy(all + all / 4), &IMAGES, |x| x.max_pool2d(2)),
        of_one("max_pool2d, 3x3, stride 2", copy(all + all / 4), &IMAGES, |x| x.max_pool2d_with_stride(3, 2)),
        of_one("avg_pool2d, 2x2", copy(all + all / 4), &IMAGES, |x| x.avg_pool2d(2)),
        of_one("avg_pool2d, 3x3, stride 2", copy(all + all / 4), &IMAGES, |x| x.avg_pool2d_with_stride(3, 2)),
        of_one("upsample_nearest2d 8x32x64x64, twice", copy(5 << 20), &[8, 32, 64, 64], |x| upsample_nearest(x, 128)),
        of_one("upsample_bilinear2d 8x32x64x64, twice", copy(5 << 20), &[8, 32, 64, 64], |x| upsample_bilinear(x, 128)),
        of_two("group_norm, 8 groups", copy(2 * all), &IMAGES, &[64], |x, w| group_norm(x, 8, w, w)),
        of_two("batch_norm, running statistics", copy(2 * all), &IMAGES, &[64], |x, w| batch_norm(x, w, &w.sqr()?)),
        of_two("rms_norm", copy(2 * ROWS * COLUMNS), &[ROWS, COLUMNS], &[COLUMNS], rms_norm),
    ]
}

fn of_indices() -> Vec<Case> {
    let shape = [ROWS, COLUMNS];
    let all = ROWS * COLUMNS;
    vec![
        of_one("arg_sort_last_dim", Work::Read(all * F32), &shape, |x| x.arg_sort_last_dim(true)),
        of_one("arg_sort_last_dim, one row of 1 M", Work::Read(F32 << 20), &[1 << 20], |x| x.arg_sort_last_dim(true)),
        of_one("cumsum, last dim", Work::Copy(2 * all * F32), &shape, |x| x.cumsum(D::Minus1)),
        case("gather, last dim", Work::Copy(3 * all * F32), move || {
            let (x, ids) = (random(&shape)?, indices(&shape, COLUMNS)?);
            Ok(Box::new(move || x.gather(&ids, D::Minus1)))
        }),
        case("scatter_add, last dim", Work::Copy(4 * all * F32), move || {
            let (x, ids) = (random(&shape)?, indices(&shape, COLUMNS)?);
            Ok(Box::new(move || x.scatter_add(&ids, &x, D::Minus1)))
        }),
        case("index_add, rows", Work::Copy(4 * all * F32), move || {
            let (x, ids) = (random(&shape)?, indices(&[ROWS], ROWS)?);
            Ok(Box::new(move || x.index_add(&ids, &x, 0)))
        }),
        case("embedding 64x128 of 10000x256", Work::Copy(2 * 64 * 128 * 256 * F32), || {
            let (x, ids) = (random(&[10000, 256])?, indices(&[64 * 128], 10000)?);
            Ok(Box::new(move || x.embedding(&ids)))
        }),
    ]
}

/// The cases, in the order of the table.
pub fn cases() -> Vec<Case> {
    convolutions().into_iter().chain(of_images()).chain(of_indices()).collect()
}
