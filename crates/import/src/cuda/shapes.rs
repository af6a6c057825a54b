//! The shape of a tensor, from how far a kernel's indices reach into it.

/// Values for the dimensions that tell products of them apart: 1024 times a prime each.
pub fn trial(number: usize) -> i128 {
    const PRIMES: [i128; 8] = [11, 13, 17, 19, 23, 29, 31, 37];
    1024 * PRIMES[number % PRIMES.len()]
}

/// Most times that a shape holds one dimension.
const MOST: u32 = 2;

/// The extents whose product is `reach`, as expressions over the dimensions. A dimension is its
/// name and its trial value. `None` if no product of the dimensions and a small factor is.
pub fn shape(reach: i128, dims: &[(String, i128)]) -> Option<Vec<String>> {
    shape_up_to(16, reach, dims)
}

/// [`shape`] with a larger number, which is an extent of its own: the rows of some kernels have one
/// length, which only the kernel says.
pub fn with_number(reach: i128, dims: &[(String, i128)]) -> Option<Vec<String>> {
    shape_up_to(1 << 13, reach, dims)
}

fn shape_up_to(largest: i128, reach: i128, dims: &[(String, i128)]) -> Option<Vec<String>> {
    let (factor, powers) = factors(largest, reach, dims)?;
    let mut extents = Vec::new();
    for ((name, _), power) in dims.iter().zip(powers) {
        extents.extend((0..power).map(|_| name.clone()));
    }
    match (extents.last_mut(), factor) {
        (Some(_), 1) => {}
        (None, factor) | (Some(_), factor @ 17..) => extents.push(factor.to_string()),
        (Some(last), factor) => *last = format!("{factor} * {last}"),
    }
    Some(extents)
}

/// The extents whose product is nearly `reach`: an index that is understood in part reaches a tile
/// too far, or not quite as far as it should.
pub fn near(reach: i128, dims: &[(String, i128)]) -> Option<Vec<String>> {
    const LARGEST: i128 = 4;
    let mut products: Vec<i128> = (1..=LARGEST).collect();
    for (_, value) in dims {
        let more = products
            .iter()
            .flat_map(|product| [*product, product.saturating_mul(*value)]);
        products = more.collect();
    }
    let distance = |product: &i128| (reach - product).abs();
    let best = products
        .into_iter()
        .filter(|product| *product > LARGEST)
        .min_by_key(distance)?;
    shape(best, dims).filter(|_| distance(&best) <= best / 50)
}

/// The factor, at most `largest`, and the power of each dimension, with the smallest factor.
pub fn factors(largest: i128, reach: i128, dims: &[(String, i128)]) -> Option<(i128, Vec<u32>)> {
    let Some(((_, value), rest)) = dims.split_first() else {
        return (1..=largest).contains(&reach).then(|| (reach, Vec::new()));
    };
    let mut best: Option<(i128, Vec<u32>)> = None;
    for power in 0..=MOST {
        let product = value.checked_pow(power)?;
        if reach % product != 0 {
            break;
        }
        let Some((factor, mut powers)) = factors(largest, reach / product, rest) else {
            continue;
        };
        if best.as_ref().is_none_or(|(known, _)| factor < *known) {
            powers.insert(0, power);
            best = Some((factor, powers));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_dimensions_is_found() {
        let dims = [("n".to_owned(), trial(0)), ("c".to_owned(), trial(1))];
        let found = |reach: i128| shape(reach, &dims).map(|extents| extents.join(", "));
        let (n, c) = (trial(0), trial(1));
        assert_eq!(found(n * c).as_deref(), Some("n, c"));
        assert_eq!(found(2 * n * c).as_deref(), Some("n, 2 * c"));
        assert_eq!(found(n * n).as_deref(), Some("n, n"));
        assert_eq!(found(c).as_deref(), Some("c"));
        assert_eq!(found(4).as_deref(), Some("4"));
        assert_eq!(found(n * c - 1), None);
    }
}
