//! `as_strided(x, size, stride, offset)`: any layout over the tensor's storage.

use crate::ops::prelude::*;

/// The view of [`as_strided`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct AsStrided {
    /// The result's shape.
    pub shape: Shape,
    /// The strides, in elements.
    pub stride: SmallVec<[usize; 6]>,
    /// The first element in the storage.
    pub offset: usize,
}

impl View for AsStrided {
    const NAME: &'static str = "as_strided";
    const OF_STORAGE: bool = true;

    fn layout(&self, _: &Layout) -> Result<Layout> {
        Layout::as_strided(self.shape.clone(), self.stride.clone(), self.offset)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let none = |rank| SmallVec::from_elem(None, rank);
        AxisMap { inputs: vec![none(input.rank())], outputs: vec![none(self.shape.rank())], roles: SmallVec::new() }
    }

    /// The view's gradient goes to the storage, where the input finds its own part of it.
    fn derivative(&self, grad: &Tensor, input: &Meta) -> Result<Tensor> {
        if input.layout.may_overlap_itself() {
            let given = format!("a gradient through the layout {:?}", input.layout);
            return Err(Error::autograd("as_strided", "input", given, "elements that share no memory"));
        }
        let (place, from) = (self.layout(&input.layout)?, input.layout.start_offset());
        let within = from <= self.offset && place.span() <= input.layout.span();
        if within && input.layout.is_contiguous() {
            return embed(AsStrided { offset: self.offset - from, ..self.clone() }, grad, input);
        }
        let storage = Meta::contiguous(input.dtype, place.span().max(input.layout.span()));
        embed(self.clone(), grad, &storage)?.as_strided(input.shape(), input.layout.stride(), from)
    }
}

/// Any shape and strides over the storage of a tensor: a view. The offset counts from the storage's start; without it, from the tensor's.
#[function(storage_offset = None)]
#[view]
#[operator(DTypes::ALL, samples, AsStrided)]
pub fn as_strided(input: &Tensor, size: &[i64], stride: &[i64], storage_offset: Option<i64>) -> Result<Tensor> {
    let shape = crate::functional::size_to_shape(OP, size)?;
    let natural = |n: &i64| usize::try_from(*n).map_err(|_| Error::value(OP, "stride or offset", n, "0 or more"));
    let stride = stride.iter().map(natural).collect::<Result<_>>()?;
    let offset = storage_offset.as_ref().map_or(Ok(input.layout().start_offset()), natural)?;
    view(AsStrided { shape, stride, offset }, input)
}

impl Tensor {
    /// Any shape and strides over this tensor's storage, from an offset counted from the storage's start: a view.
    ///
    /// # Errors
    /// When the layout reaches beyond the storage.
    #[track_caller]
    pub fn as_strided<S: Into<Shape>>(&self, shape: S, stride: &[usize], offset: usize) -> Result<Tensor> {
        view(AsStrided { shape: shape.into(), stride: SmallVec::from_slice(stride), offset }, self)
    }

    /// A gradient in memory of `len` elements as the layout has it in the storage from element `start` on; zeros elsewhere.
    #[track_caller]
    pub(crate) fn laid_out(&self, layout: &Layout, start: usize, len: usize) -> Result<Tensor> {
        let place = AsStrided { offset: layout.start_offset() - start, ..AsStrided::of(layout) };
        embed(place, self, &Meta::contiguous(self.dtype(), len))
    }

    /// The gradient of `input`, of which a view of this layout has this gradient.
    #[track_caller]
    pub(crate) fn shown_back(&self, view: &Layout, input: &Meta) -> Result<Tensor> {
        AsStrided::of(view).derivative(self, input)
    }
}

impl AsStrided {
    fn of(layout: &Layout) -> Self {
        let stride = SmallVec::from_slice(layout.stride());
        AsStrided { shape: layout.shape().clone(), stride, offset: layout.start_offset() }
    }
}

fn samples() -> Vec<Sample> {
    vec![
        view_sample(AsStrided { shape: [3, 2].into(), stride: smallvec![2, 1], offset: 1 }, &[8], |x| {
            Array::from_fn(&[3, 2], |i| x.at(&[1 + 2 * i[0] + i[1]]))
        }),
        view_sample(AsStrided { shape: [3, 3].into(), stride: smallvec![1, 1], offset: 0 }, &[6], |x| {
            Array::from_fn(&[3, 3], |i| x.at(&[i[0] + i[1]]))
        }),
    ]
}
