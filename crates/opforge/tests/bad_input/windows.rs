//! Windows of convolutions and pooling.

use super::*;

#[test]
fn class_16_windows() {
    all_refused(vec![
        case(&[Value, Shape, Index], &["unfold"], || x(&[4]).unfold(0, 5, 1)),
        case(&[Value], &["unfold", "step"], || x(&[4]).unfold(0, 2, 0)),
        case(&[Index], &["unfold"], || x(&[4]).unfold(1, 2, 1)),
        case(&[Value], &["arange", "step"], || Tensor::arange_step(0i64, 4, 0, CPU)),
        case(&[Value], &["arange", "step"], || f::arange(0.0.into(), 4.0.into(), (-1.0).into(), None, None, false)),
        case(&[Value], &["arange"], || f::arange(0.0.into(), f64::NAN.into(), 1.0.into(), None, None, false)),
        case(&[Value], &["dropout", "1.5"], || f::dropout(&x(&[2]), 1.5, true, false)),
        case(&[Value], &["gelu", "quick"], || f::gelu(&x(&[2]), "quick")),
        case(&[Value], &["cross_entropy", "median"], || {
            f::cross_entropy(&x(&[2, 3]), &ids(&[0, 1]), None, -100, "median", 0.0)
        }),
    ]);
}

#[test]
fn class_16_convolutions() {
    const HUGE: i64 = i64::MAX;
    let conv2d = |stride: &[i64], padding: &[i64], dilation: &[i64], groups: i64| {
        f::conv2d(&x(&[1, 4, 5, 5]), &x(&[4, 4, 3, 3]), None, stride, padding, dilation, groups)
    };
    let transpose = |stride: &[i64], padding: &[i64], extra: &[i64]| {
        f::conv_transpose2d(&x(&[1, 4, 5, 5]), &x(&[4, 4, 3, 3]), None, stride, padding, extra, 1, &[1])
    };
    all_refused(vec![
        case(&[Value], &["conv2d", "stride", "[0]"], move || conv2d(&[0], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "stride", "[1, -1]"], move || conv2d(&[1, -1], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "stride", "[1, 1, 1]"], move || conv2d(&[1, 1, 1], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "padding", "[-1]"], move || conv2d(&[1], &[-1], &[1], 1)),
        case(&[Value], &["conv2d", "dilation", "[0]"], move || conv2d(&[1], &[0], &[0], 1)),
        case(&[Value], &["conv2d", "groups"], move || conv2d(&[1], &[0], &[1], 0)),
        case(&[Value], &["conv2d", "groups"], move || conv2d(&[1], &[0], &[1], -2)),
        case(&[Shape], &["conv2d", "3 groups"], move || conv2d(&[1], &[0], &[1], 3)),
        case(&[Shape], &["conv2d", "kernel", "dilation 3"], move || conv2d(&[1], &[0], &[3], 1)),
        case(&[Shape], &["conv2d", "kernel"], move || conv2d(&[1], &[0], &[HUGE], 1)),
        case(&[Shape, Value, OutOfMemory], &["conv"], move || conv2d(&[1], &[HUGE], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[1], &[1 << 40], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[1 << 40], &[1 << 40], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[HUGE], &[1 << 40], &[1 << 40], 1)),
        case(&[Shape], &["conv2d", "input"], || f::conv2d(&x(&[5, 5]), &x(&[4, 4, 3, 3]), None, &[1], &[0], &[1], 1)),
        case(&[Shape], &["conv1d"], || f::conv1d(&x(&[1, 2, 5]), &x(&[2, 3]), None, &[1], &[0], &[1], 1)),
        case(&[Shape], &["convolution", "bias"], || {
            f::conv1d(&x(&[1, 2, 5]), &x(&[3, 2, 3]), Some(&x(&[2])), &[1], &[0], &[1], 1)
        }),
        case(&[DTypeError], &["convolution"], || {
            f::conv1d(&x(&[1, 2, 5]), &x(&[3, 2, 3]).to_dtype(DType::F64)?, None, &[1], &[0], &[1], 1)
        }),
        case(&[Value], &["conv1d", "same"], || {
            f::conv1d_named_padding(&x(&[1, 2, 5]), &x(&[3, 2, 3]), None, &[2], "same", &[1], 1)
        }),
        case(&[Value], &["conv1d", "full"], || {
            f::conv1d_named_padding(&x(&[1, 2, 5]), &x(&[3, 2, 3]), None, &[1], "full", &[1], 1)
        }),
        case(&[Value], &["conv_transpose2d", "output_padding"], move || transpose(&[2], &[0], &[2])),
        case(&[Value], &["conv_transpose2d", "output_padding"], move || transpose(&[2], &[0], &[-1])),
        case(&[Shape], &["conv_transpose2d", "input"], move || transpose(&[1], &[4], &[0])),
        case(&[Shape, OutOfMemory], &["conv_transpose2d"], move || transpose(&[HUGE], &[0], &[0])),
        case(&[Shape, Value, OutOfMemory], &[], move || transpose(&[1 << 40], &[0], &[0])),
        case(&[Shape], &["conv_transpose2d"], || x(&[1, 3, 5, 5]).conv_transpose2d(&x(&[4, 4, 3, 3]), 0, 0, 1, 1)),
        case(&[Value], &["conv1d"], || x(&[1, 3, 5]).conv1d(&x(&[4, 3, 3]), 0, 0, 1, 1)),
    ]);
}

#[test]
fn class_16_pooling() {
    const HUGE: i64 = i64::MAX;
    let max = |kernel: &[i64], stride: &[i64], padding: &[i64], dilation: &[i64]| {
        f::max_pool2d(&x(&[1, 2, 5, 5]), kernel, Some(stride), padding, dilation, false)
    };
    let avg =
        |shape: &[usize], kernel: &[i64], divisor| f::avg_pool2d(&x(shape), kernel, None, &[0], false, true, divisor);
    all_refused(vec![
        case(&[Value], &["max_pool2d", "kernel_size", "[0]"], move || max(&[0], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "kernel_size", "[2, -2]"], move || max(&[2, -2], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "kernel_size", "[2, 2, 2]"], move || max(&[2, 2, 2], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "stride", "[0]"], move || max(&[2], &[0], &[0], &[1])),
        case(&[Value], &["max_pool2d", "dilation", "[0]"], move || max(&[2], &[1], &[0], &[0])),
        case(&[Value], &["max_pool2d", "padding", "[-1]"], move || max(&[2], &[1], &[-1], &[1])),
        case(&[Value], &["max_pool2d", "padding", "half"], move || max(&[3], &[1], &[2], &[1])),
        case(&[Value], &["max_pool2d", "padding"], move || max(&[3], &[1], &[HUGE], &[1])),
        case(&[Shape], &["max_pool2d", "kernel_size", "length 5"], move || max(&[6], &[1], &[0], &[1])),
        case(&[Shape, Value], &["max_pool2d"], move || max(&[HUGE], &[HUGE], &[0], &[1])),
        case(&[Shape, Value], &["max_pool2d"], move || max(&[2], &[HUGE], &[0], &[HUGE])),
        case(&[Shape, Value, OutOfMemory], &["max_pool"], move || max(&[HUGE / 2], &[1], &[HUGE / 4], &[1])),
        case(&[Shape], &["avg_pool2d", "input"], move || avg(&[5, 5], &[2], None)),
        case(&[Shape], &["avg_pool2d", "input"], move || avg(&[1, 2, 0, 5], &[2], None)),
        case(&[Value], &["avg_pool2d", "divisor_override", "0"], move || avg(&[1, 5, 5], &[2], Some(0))),
        case(&[Value], &["adaptive_avg_pool2d", "output_size", "-2"], || f::adaptive_avg_pool2d(&x(&[1, 5, 5]), &[-2])),
        case(&[Value], &["adaptive_avg_pool1d", "output_size"], || f::adaptive_avg_pool1d(&x(&[1, 5]), &[1, 2])),
        case(&[Value], &["adaptive_avg_pool1d", "output_size"], || f::adaptive_avg_pool1d(&x(&[1, 5]), &[HUGE])),
        case(&[Value], &["max_pool2d"], || x(&[1, 1, 5, 5]).max_pool2d_with_stride(2, 0)),
        case(&[Value], &["avg_pool2d"], || x(&[1, 1, 5, 5]).avg_pool2d(0)),
    ]);
}
