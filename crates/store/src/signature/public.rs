//! Signatures that everybody can prove: Ed25519, by a key pair that follows from the key of the
//! records. So a user has one secret, and a job of a cluster with a key of its own another pair.

use super::key::Key;
use super::{SIGNATURE, Signed, hex, unhex, write_sorted};
use anyhow::Result;
use ed25519_compact::{KeyPair, PublicKey, Seed, Signature};
use hmac::Mac;
use serde::Serialize;
use serde_json::Value;

/// What a public key begins with.
const SCHEME: &str = "ed25519:";

/// What is signed. A signature for one kind is not valid for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// evidence/ID.json.
    Evidence,
    /// The git note of a decided run's commit.
    Note,
}

impl Statement {
    fn name(self) -> &'static [u8] {
        match self {
            Statement::Evidence => b"lab evidence\0",
            Statement::Note => b"lab note\0",
        }
    }
}

/// This user's public key as evidence/allowed_signers has it. The secret is made on first use.
pub fn key() -> Result<String> {
    Ok(shown(&pair()?.pk))
}

/// Whether a text is a public key.
pub fn is_key(text: &str) -> bool {
    read_key(text).is_some()
}

/// Signs a JSON value: the public key, a blank, and the signature.
pub fn sign(statement: Statement, value: &Value) -> Result<String> {
    let pair = pair()?;
    let signature = pair.sk.sign(signed_text(statement, value), None);
    Ok(format!("{} {}", shown(&pair.pk), hex(&*signature)))
}

/// A JSON object with its signature, as text.
pub fn signed<T: Serialize>(statement: Statement, value: &T) -> Result<String> {
    // The numbers as a reader will find them in the text.
    let read = serde_json::from_slice(&serde_json::to_vec(value)?)?;
    Ok(serde_json::to_string_pretty(&Signed {
        value,
        version: None,
        signature: sign(statement, &read)?,
    })?)
}

/// Takes the signature out of a JSON object, and returns the public key that signed the rest. `None`
/// if the object is not signed, or was changed since.
pub fn signer_of(statement: Statement, value: &mut Value) -> Option<String> {
    let signature = value.as_object_mut()?.remove(SIGNATURE)?;
    signer(statement, value, signature.as_str()?)
}

/// The public key that signed a value so; `None` if the signature is wrong.
pub fn signer(statement: Statement, value: &Value, signature: &str) -> Option<String> {
    let (key, signature) = signature.split_once(' ')?;
    let signature = Signature::from_slice(&unhex(signature)?).ok()?;
    let right = read_key(key)?.verify(signed_text(statement, value), &signature);
    right.is_ok().then(|| key.to_owned())
}

fn pair() -> Result<KeyPair> {
    let mut mac = Key::get_or_create()?.hmac();
    mac.update(b"lab key pair of evidence");
    let seed: [u8; 32] = mac.finalize().into_bytes().into();
    Ok(KeyPair::from_seed(Seed::new(seed)))
}

fn shown(key: &PublicKey) -> String {
    format!("{SCHEME}{}", hex(&**key))
}

fn read_key(text: &str) -> Option<PublicKey> {
    PublicKey::from_slice(&unhex(text.strip_prefix(SCHEME)?)?).ok()
}

fn signed_text(statement: Statement, value: &Value) -> Vec<u8> {
    let mut text = statement.name().to_vec();
    write_sorted(value, &mut text);
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn anybody_can_prove_a_signature_and_no_changed_value_passes() {
        let value = json!({ "us": 26.41, "blob": "a1" });
        let signature = sign(Statement::Evidence, &value).unwrap();
        let signer = |value: &Value, text: &str| signer(Statement::Evidence, value, text);
        assert_eq!(signer(&value, &signature), Some(key().unwrap()));
        assert_eq!(
            signer(&json!({ "us": 2.641, "blob": "a1" }), &signature),
            None
        );
        let of_note = super::signer(Statement::Note, &value, &signature);
        assert_eq!(of_note, None, "a signature of one kind is none of another");
        for wrong in ["", "ed25519:00 00", &signature.replace("ed25519:", "rsa:")] {
            assert_eq!(signer(&value, wrong), None, "{wrong}");
        }
        assert!(is_key(&key().unwrap()) && !is_key("ed25519:00"));
    }

    /// Test 2 of RFC 8032, so that another version of the crate signs the same.
    #[test]
    fn the_signature_is_ed25519() {
        let seed =
            unhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").unwrap();
        let pair = KeyPair::from_seed(Seed::from_slice(&seed).unwrap());
        let public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
        assert_eq!(hex(&*pair.pk), public);
        let signature = pair.sk.sign([0x72], None);
        assert!(hex(&*signature).starts_with("92a009a9f0d4cab8720e820b5f642540"));
    }
}
