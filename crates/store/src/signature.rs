//! Signs what the lab writes into `.lab`, so that it tells its own records from those that came
//! with a folder.
//!
//! A clone, an archive or a colleague's folder can bring a record with any verdict. The lab shows
//! such a record and calls it foreign, but only a record with this user's signature permits a
//! decision. The signature is HMAC-SHA256 with a key that lies in the user's state folder and in no
//! repository. It does not travel in git notes, which have a [public] one.

mod key;
pub mod public;
pub mod signers;

pub use key::{KEY_FILE, key_problem, use_key_file};

use anyhow::{Result, anyhow, bail};
use hmac::{Hmac, Mac};
use key::Key;
use lab_run::record::{Origin, VERSION};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::Sha256;
use std::path::Path;

/// What is signed. A signature for one kind is not valid for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A run's record.json.
    Record,
    /// `.lab/unfinished.json`.
    Intent,
    /// What a bench measures, `.lab/bench/N/bench.json`.
    Bench,
    /// A line of `.lab/bench/N/runs.jsonl`.
    BenchRun,
    /// What a bench measured beside the peers, `.lab/bench/N/peers.json`.
    BenchPeers,
    /// What a sweep tries, `.lab/sweep/N/sweep.json`.
    Sweep,
    /// A line of `.lab/sweep/N/points.jsonl`.
    SweepPoint,
    /// What a job array of a sweep judges, `.lab/sweep/N/tasks/A/array.json`.
    SweepArray,
    /// How far a job array is, `.lab/sweep/N/jobs.json`.
    SweepJobs,
    /// The points of a sweep that were written into the kernel, `.lab/sweep/N/applied.json`.
    SweepApplied,
    /// A run's profile.json.
    Profile,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::Record => "lab record",
            Purpose::Intent => "lab intent",
            Purpose::Bench => "lab bench",
            Purpose::BenchRun => "lab bench run",
            Purpose::BenchPeers => "lab bench peers",
            Purpose::Sweep => "lab sweep",
            Purpose::SweepPoint => "lab sweep point",
            Purpose::SweepArray => "lab sweep array",
            Purpose::SweepJobs => "lab sweep jobs",
            Purpose::SweepApplied => "lab sweep applied",
            Purpose::Profile => "lab profile",
        }
    }
}

/// The key of the JSON object under which the signature stands: the version of the scheme, and hex
/// digits.
const SIGNATURE: &str = "signature";
const SCHEME: &str = "hmac-sha256:";

#[derive(Serialize)]
struct Signed<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    /// `None` if the value has the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    signature: String,
}

/// A JSON object with its signature, as it goes into a file. The key is made on first use. The
/// error says why there is no key.
pub fn signed<T: Serialize>(purpose: Purpose, value: &T) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec_pretty(&sign(purpose, value)?)?)
}

/// [`signed`] on one line, without its end.
pub fn signed_line<T: Serialize>(purpose: Purpose, value: &T) -> Result<String> {
    Ok(serde_json::to_string(&sign(purpose, value)?)?)
}

fn sign<T: Serialize>(purpose: Purpose, value: &T) -> Result<Signed<'_, T>> {
    let key = Key::get_or_create()?;
    // The numbers as a reader will find them in the text.
    let mut read: Value = serde_json::from_slice(&serde_json::to_vec(value)?)?;
    let version = read.get("version").is_none().then_some(VERSION);
    if let (Some(version), Some(object)) = (version, read.as_object_mut()) {
        object.insert("version".to_owned(), version.into());
    }
    let signature = format!(
        "{SCHEME}{}",
        hex(&mac(&key, purpose, &read).finalize().into_bytes())
    );
    Ok(Signed {
        value,
        version,
        signature,
    })
}

/// The object has a version that this lab does not know.
#[derive(Debug, thiserror::Error)]
#[error(
    "a newer lab wrote it: it has version {version}, and this lab reads up to {VERSION}. Update lab"
)]
struct Newer {
    version: u64,
}

/// [`read`] of the text of this file, which the error names. `remedy` is for a damaged one.
pub fn read_file<T: DeserializeOwned>(
    purpose: Purpose,
    path: &Path,
    text: &[u8],
    remedy: &str,
) -> Result<(T, Origin)> {
    let path = path.display();
    read(purpose, text).map_err(|error| match error.is::<Newer>() {
        true => anyhow!("{path}: {error}"),
        false => error.context(format!("{path} is damaged{remedy}")),
    })
}

/// Reads a JSON object, and who wrote it. The error says what is damaged, or that a newer lab wrote
/// the object.
pub fn read<T: DeserializeOwned>(purpose: Purpose, text: &[u8]) -> Result<(T, Origin)> {
    let mut value: Value = serde_json::from_slice(text)?;
    let signature = value
        .as_object_mut()
        .and_then(|object| object.remove(SIGNATURE));
    let origin = match signature {
        Some(signature) if is_right(purpose, &value, &signature) => Origin::Own,
        _ => Origin::Foreign,
    };
    match value.get("version") {
        None => bail!("it names no version"),
        Some(given) => match given.as_u64() {
            Some(version) if version > VERSION.into() => bail!(Newer { version }),
            Some(1..) => {}
            _ => bail!("its version is {given}, and must be a whole number from 1 on"),
        },
    }
    // From the value that was signed: the text could name a key twice.
    Ok((serde_json::from_value(value)?, origin))
}

fn is_right(purpose: Purpose, value: &Value, signature: &Value) -> bool {
    let given = signature
        .as_str()
        .and_then(|text| text.strip_prefix(SCHEME))
        .and_then(unhex);
    let (Some(given), Ok(Some(key))) = (given, Key::get()) else {
        return false;
    };
    mac(&key, purpose, value).verify_slice(&given).is_ok()
}

fn mac(key: &Key, purpose: Purpose, value: &Value) -> Hmac<Sha256> {
    let mut mac = key.hmac();
    mac.update(purpose.name().as_bytes());
    mac.update(b"\0");
    let mut text = Vec::new();
    write_sorted(value, &mut text);
    mac.update(&text);
    mac
}

/// Writes a value in one way only: without blanks, the keys of each object sorted. So the bytes do
/// not depend on how a file is laid out.
fn write_sorted(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_sorted(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (key, item) in entries {
                out.extend(Value::from(key.as_str()).to_string().bytes());
                out.push(b':');
                write_sorted(item, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        leaf => out.extend(leaf.to_string().bytes()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use hmac::KeyInit;
    use serde_json::json;

    fn origin(purpose: Purpose, text: &[u8]) -> Origin {
        read::<Value>(purpose, text).unwrap().1
    }

    #[test]
    fn what_was_signed_is_own_however_the_file_is_laid_out() {
        let value = json!({ "b": [1.5, 0.1, -3, u64::MAX, null, "x\"\u{1b}"], "a": { "d": true, "c": {} } });
        let text = signed(Purpose::Record, &value).unwrap();
        let mut read_back = value.clone();
        read_back["version"] = VERSION.into();
        assert_eq!(
            read::<Value>(Purpose::Record, &text).unwrap(),
            (read_back, Origin::Own)
        );
        let laid_out: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            origin(Purpose::Record, laid_out.to_string().as_bytes()),
            Origin::Own
        );
    }

    #[test]
    fn anything_else_is_not() {
        let text = String::from_utf8(
            signed(Purpose::Record, &json!({ "run": 1, "pass": false })).unwrap(),
        )
        .unwrap();
        assert_eq!(origin(Purpose::Record, text.as_bytes()), Origin::Own);
        for changed in [
            text.replace("false", "true"),
            text.replace("\"run\": 1", "\"run\": 12"),
            text.replace("\"run\": 1", "\"run\": 1, \"more\": 1"),
            text.replace("hmac-sha256:", "none:"),
            text.replace("hmac-sha256:", "hmac-sha256:00"),
            text.replace("\"hmac-sha256:", "\"hmac-sha256:é"),
            text.replace("\"pass\": false", "\"pass\": false, \"pass\": true"),
        ] {
            assert_ne!(changed, text);
            assert_eq!(
                origin(Purpose::Record, changed.as_bytes()),
                Origin::Foreign,
                "{changed}"
            );
        }
        assert_eq!(
            origin(Purpose::Intent, text.as_bytes()),
            Origin::Foreign,
            "a signature of another kind"
        );
        for unsigned in [
            json!({ "version": 1 }),
            json!({ "version": 1, "signature": null }),
        ] {
            let text = unsigned.to_string();
            assert_eq!(origin(Purpose::Record, text.as_bytes()), Origin::Foreign);
        }
        assert!(read::<Value>(Purpose::Record, b"{ half").is_err());
        let newer = signed(Purpose::Record, &json!({ "version": VERSION + 1 })).unwrap();
        let error = read::<Value>(Purpose::Record, &newer).unwrap_err();
        assert!(
            error.to_string().starts_with("a newer lab wrote it"),
            "{error}"
        );
    }

    /// The test vector of RFC 4231, case 2, so that another version of the crate signs the same.
    #[test]
    fn the_signature_is_hmac_sha256() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&mac.finalize().into_bytes()), wanted);
        assert_eq!(unhex("00ff").unwrap(), [0, 255]);
    }
}
