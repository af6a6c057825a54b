//! Parts of a tensor, which a kernel gets pointers to in place of one to the tensor: the key `views`.
//! A part is written as NumPy's slices are, as in `":, 0"`.

use lab_source::expression::Expression;

/// A part of a tensor in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    pub name: String,
    /// Cells of the tensor before the first one of the view.
    pub offset: usize,
    pub shape: Vec<usize>,
    /// Cells of the tensor from each cell of an extent to the next one.
    pub strides: Vec<usize>,
}

impl View {
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The part of an extent that a view has.
#[derive(Debug)]
enum Part {
    /// One place, so that the view lacks the extent.
    At(Box<Expression>),
    /// The places from one to another, which is not included; each so many behind the one before.
    Between(Bounds),
}

/// From, to and step.
type Bounds = Box<[Option<Expression>; 3]>;

/// A slice as problem.toml writes it.
#[derive(Debug)]
pub struct Slice(Vec<Part>);

impl Slice {
    /// Parses a slice of a tensor with so many extents. `names` are those that expressions may use.
    pub fn parse(text: &str, extents: usize, names: &[&str]) -> Result<Slice, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > extents {
            return Err(format!(
                "'{text}' has {} parts, and the tensor {extents} extents",
                parts.len()
            ));
        }
        let expression = |text: &str| Expression::parse(text.trim(), names);
        let part = |text: &str| {
            if !text.contains(':') {
                return expression(text).map(|at| Part::At(Box::new(at)));
            }
            let mut bounds = Bounds::default();
            let mut texts = text.split(':');
            for (bound, text) in bounds.iter_mut().zip(&mut texts) {
                let text = Some(text).filter(|text| !text.trim().is_empty());
                *bound = text.map(expression).transpose()?;
            }
            match texts.next() {
                None => Ok(Part::Between(bounds)),
                Some(_) => Err(format!("'{text}': a slice is from:to or from:to:step")),
            }
        };
        parts
            .into_iter()
            .map(part)
            .collect::<Result<_, _>>()
            .map(Slice)
    }

    /// The view of a tensor with this shape. A place below zero counts from the end.
    pub fn view(
        &self,
        name: &str,
        shape: &[usize],
        look_up: &dyn Fn(&str) -> f64,
    ) -> Result<View, String> {
        let mut view = View {
            name: name.to_owned(),
            ..View::default()
        };
        let mut stride = shape.iter().product::<usize>();
        let whole = Part::Between(Bounds::default());
        let parts = self.0.iter().chain(std::iter::repeat(&whole));
        for (extent, part) in shape.iter().zip(parts) {
            stride /= extent;
            let place = |of: &Expression, most: usize| {
                let value = of.value(look_up)?;
                let from_start = value + if value < 0.0 { *extent as f64 } else { 0.0 };
                match from_start.fract() == 0.0 && (0.0..=most as f64).contains(&from_start) {
                    true => Ok(from_start as usize),
                    false => Err(format!("{value} is no place in an extent of {extent}")),
                }
            };
            match part {
                Part::At(at) => view.offset += place(at, extent - 1)? * stride,
                Part::Between(bounds) => {
                    let [from, to, step] = &**bounds;
                    let bound = |of: &Option<Expression>, default| match of {
                        Some(of) => place(of, *extent),
                        None => Ok(default),
                    };
                    let (from, to) = (bound(from, 0)?, bound(to, *extent)?);
                    let step = match step {
                        Some(step) => step.extent(look_up)?,
                        None => 1,
                    };
                    if from >= to {
                        return Err(format!("nothing lies between {from} and {to}"));
                    }
                    view.offset += from * stride;
                    view.shape.push((to - from).div_ceil(step));
                    view.strides.push(step * stride);
                }
            }
        }
        match view.shape.is_empty() {
            true => Err("it names one cell: write 3:4 in place of a last 3".into()),
            false => Ok(view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset, shape and strides.
    type Found = Result<(usize, Vec<usize>, Vec<usize>), String>;

    fn of(text: &str, shape: &[usize]) -> Found {
        let look_up = |name: &str| if name == "h" { 4.0 } else { f64::NAN };
        let slice = Slice::parse(text, shape.len(), &["h"])?;
        let view = slice.view("q", shape, &look_up)?;
        Ok((view.offset, view.shape, view.strides))
    }

    #[test]
    fn a_slice_is_that_of_numpy() {
        // tokens × 3 × heads × width
        let qkv = [7, 3, 4, 5];
        let each_head = (vec![7, 4, 5], vec![60, 5, 1]);
        for (text, offset) in [(":, 0", 0), (":, 1", 20), (":, -1", 40), (":,h-2,:,:", 40)] {
            let (shape, strides) = each_head.clone();
            assert_eq!(of(text, &qkv), Ok((offset, shape, strides)), "{text}");
        }
        assert_eq!(of(":, :h", &[9, 10]), Ok((0, vec![9, 4], vec![10, 1])));
        assert_eq!(of(":, h:", &[9, 10]), Ok((4, vec![9, 6], vec![10, 1])));
        assert_eq!(of("1, 1::2", &[9, 10]), Ok((11, vec![5], vec![2])));
        assert_eq!(of("-2:, ::3", &[9, 10]), Ok((70, vec![2, 4], vec![10, 3])));
    }

    #[test]
    fn a_slice_that_is_none_is_refused() {
        let error = |text| of(text, &[9, 10]).err().unwrap_or_default();
        assert_eq!(
            error("0, 0, 0"),
            "'0, 0, 0' has 3 parts, and the tensor 2 extents"
        );
        assert_eq!(error("9"), "9 is no place in an extent of 9");
        assert_eq!(error(":, h / 8"), "0.5 is no place in an extent of 10");
        assert_eq!(error("-11:"), "-11 is no place in an extent of 9");
        assert_eq!(error("h:h"), "nothing lies between 4 and 4");
        assert_eq!(
            error("1:2:3:4"),
            "'1:2:3:4': a slice is from:to or from:to:step"
        );
        assert_eq!(
            error("0, 0"),
            "it names one cell: write 3:4 in place of a last 3"
        );
        assert!(error("::0").contains("an extent must be a whole number from 1"));
        assert!(error("k").contains("names 'k', which is not a dimension"));
    }
}
