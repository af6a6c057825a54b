//! How large the objects of a pack become. A few kilobytes may hold objects of many gigabytes: a
//! delta copies the same bytes again and again. Neither libgit2 nor git bounds that.

use anyhow::{Context, Result, bail, ensure};
use flate2::bufread::ZlibDecoder;
use std::io::{BufRead, Read};

/// Most bytes of an object.
const OBJECT: u64 = 64 << 20;

/// Most bytes of all objects, each one whole.
const OBJECTS: u64 = 1 << 30;

/// The numbers of a pack for the two kinds of objects that are told as changes of others.
const BY_OFFSET: u8 = 6;
const BY_ID: u8 = 7;

/// Refuses a pack whose objects become too large, without making any of them.
pub fn check(mut pack: impl BufRead) -> Result<()> {
    let [b'P', b'A', b'C', b'K', _, _, _, _, count @ ..] = bytes::<12>(&mut pack)? else {
        bail!("it holds no pack");
    };
    let mut together = 0_u64;
    for _ in 0..u32::from_be_bytes(count) {
        let bytes = object(&mut pack)?;
        together = together.saturating_add(bytes);
        ensure!(
            bytes <= OBJECT && together <= OBJECTS,
            "its objects become too large: lab reads up to {OBJECT} bytes of one and {OBJECTS} of all"
        );
    }
    Ok(())
}

/// Reads past an object. Returns how many bytes it becomes.
fn object(pack: &mut impl BufRead) -> Result<u64> {
    let [first] = bytes(pack)?;
    let kind = (first >> 4) & 7;
    let mut size = u64::from(first & 15);
    if first & 128 != 0 {
        size |= number(pack)?.saturating_mul(16);
    }
    match kind {
        BY_OFFSET => drop(number(pack)?),
        BY_ID => drop(bytes::<20>(pack)?),
        _ => {}
    }
    if size > OBJECT {
        return Ok(size);
    }
    let mut content = ZlibDecoder::new(pack).take(size + 1);
    let mut start = Vec::new();
    content.by_ref().take(20).read_to_end(&mut start)?;
    let rest = std::io::copy(&mut content, &mut std::io::sink())?;
    ensure!(
        start.len() as u64 + rest == size,
        "an object of its pack has another size than it says"
    );
    if ![BY_OFFSET, BY_ID].contains(&kind) {
        return Ok(size);
    }
    let mut start = &start[..];
    let _of_base = number(&mut start)?;
    Ok(number(&mut start)?.max(size))
}

/// A number in groups of seven bits, the lowest first, each with the sign whether one more follows.
fn number(from: &mut impl Read) -> Result<u64> {
    let mut value = 0;
    for group in 0..9 {
        let [byte] = bytes(from)?;
        value |= u64::from(byte & 127) << (7 * group);
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
    bail!("a number of its pack is too long")
}

fn bytes<const N: usize>(from: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).context("its pack is cut off")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn size(kind: u8, mut size: usize) -> Vec<u8> {
        let mut bytes = vec![(kind << 4) | (size & 15) as u8];
        size >>= 4;
        bytes.extend(groups(size).into_iter().filter(|_| size > 0));
        bytes[0] |= if size > 0 { 128 } else { 0 };
        bytes
    }

    fn groups(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 127 {
            bytes.push(value as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// A change of a base of 100 bytes to an object of so many.
    fn delta(result: usize) -> Vec<u8> {
        let content = [groups(100), groups(result), vec![0x90; 200]].concat();
        [size(BY_ID, content.len()), vec![7; 20], packed(&content)].concat()
    }

    fn told(objects: &[Vec<u8>]) -> Result<(), String> {
        let count = (objects.len() as u32).to_be_bytes();
        let pack = [b"PACK\0\0\0\x02".as_slice(), &count, &objects.concat()].concat();
        check(&pack[..]).map_err(|error| error.to_string())
    }

    #[test]
    fn objects_that_become_too_large_are_found_without_making_them() {
        let blob = [size(3, 5_000), packed(&[b'x'; 5_000])].concat();
        assert_eq!(told(&[blob.clone(), delta(2_000), blob.clone()]), Ok(()));
        for large in [vec![delta(65 << 20)], vec![delta(60 << 20); 18]] {
            let why = told(&large).unwrap_err();
            assert!(why.starts_with("its objects become too large"), "{why}");
        }
        let lying = [size(3, 10), packed(&[b'x'; 5_000])].concat();
        assert!(told(&[lying]).is_err());
        assert!(told(&[blob[..10].to_vec()]).is_err());
    }
}
