//! What evidence must hold up to: its signature, the files that decide its figures, and every workload
//! and peer that a claim names.

use crate::decisions::{CLAIM, checked, supported};
use serde_json::{Value, json};

#[test]
fn evidence_of_another_file_that_decides_its_figures_is_stale_too() {
    let lab = supported();
    let evidence: Value = serde_json::from_str(&lab.read("evidence/scale.json")).unwrap();
    let inputs = evidence["inputs"].as_object().unwrap();
    let other = inputs.keys().find(|path| *path != "kernel.cu").unwrap();
    let text = lab.read(other);
    lab.write(other, format!("{text}\n# another\n"));
    lab.git("commit -qam other");
    let output = checked(&lab, 0);
    let stale = format!("warning: evidence scale is stale: HEAD holds another {other}");
    assert!(output.err.contains(&stale), "{output:?}");
}

#[test]
fn supported_needs_a_figure_for_every_workload_and_peer_that_the_claim_names() {
    let lab = supported();
    let text = lab.read("decisions.toml");
    let claimed = |claim: &str| {
        lab.write("decisions.toml", text.replace(CLAIM, claim));
        checked(&lab, 0);
        lab.lab("decisions").is(0)
    };
    claimed("On H200 it takes {scale.f16.1x64.us}, and is faster than F.scale.")
        .says("its claim names f.scale, and cites no figure beside it");
    claimed("On H200 it is {scale.f16.1x64.vs_f_scale} as fast as cuDNN and Triton.")
        .says("its claim does not say that 10.2× is beside F.scale");
    claimed(CLAIM).says("1 supported");
    claimed("On H200 it is {scale.vs_f_scale} as fast as F.scale for f16.1x64.")
        .says("1 supported");
}

#[test]
fn evidence_of_a_key_that_nobody_lists_is_told() {
    let lab = supported();
    lab.write("evidence/allowed_signers", "");
    let output = checked(&lab, 0);
    let told = "warning: evidence scale is signed by no key of evidence/allowed_signers";
    assert!(output.err.contains(told), "{output:?}");
    lab.lab("decisions").is(0).says("1 caveated");
}

#[test]
fn evidence_whose_signature_was_taken_away_is_false() {
    let lab = supported();
    let evidence = lab.read("evidence/scale.json");
    let mut bare: Value = serde_json::from_str(&evidence).unwrap();
    bare.as_object_mut().unwrap().remove("signature");
    lab.write("evidence/scale.json", bare.to_string());
    checked(&lab, 1).says("evidence scale: its signature was taken away");
    bare["signature"] = json!(5);
    lab.write("evidence/scale.json", bare.to_string());
    checked(&lab, 1).says("evidence scale: its signature was taken away");
}
