//! What evidence must hold up to: its signature, the files that decide its figures, and every workload
//! and peer that a claim names. What a claim says beyond it, and what is ticked without it, is false.

use crate::decisions::{CLAIM, checked, supported};
use crate::lab::Lab;
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

#[test]
fn a_decision_that_cannot_be_read_hides_no_other() {
    let lab = supported();
    let board = lab.read("decisions.toml");
    let other = board.replace("id = \"scale\"", "id = \"other\"");
    let third = board.replace("id = \"scale\"", "id = \"third\"");
    for (from, to, fault) in [
        (
            "domain",
            "domian",
            "decisions.toml:10:1: unknown key 'domian' (did you mean 'domain'?)",
        ),
        (
            "verdict = \"faster\"",
            "verdict = faster",
            "decisions.toml:14:11: put faster in quotes",
        ),
        ("title", "[[", "decisions.toml:11:"),
        (
            "claim",
            "# claim",
            "decisions.toml:8:1: missing field `claim`",
        ),
        ("[\"scale\"]", "[\"scale\"", "decisions.toml:1"),
        ("verdict = \"faster\"", "next = [", "decisions.toml:14:"),
        (
            "[[decision]]",
            "[[decisoin]]",
            "decisions.toml:8:3: unknown key 'decisoin'",
        ),
        (
            "verdict = \"faster\"",
            "[[decision.nxt]]",
            "decisions.toml:14:12: unknown key 'nxt'",
        ),
    ] {
        let bad = other.replace(from, to);
        lab.write("decisions.toml", format!("{board}{bad}{third}"));
        checked(&lab, 1)
            .says(&format!("false: {fault}"))
            .says("2 decisions: 2 supported");
        let shown = lab.lab("decisions").is(0).says(fault);
        for line in ["supported  scale: Scaling", "supported  third: Scaling"] {
            assert!(shown.out.contains(line), "{to}: {shown:?}");
        }
        let added = lab.lab("decisions add more --bench 1 --to third").is(1);
        assert!(added.err.contains(fault), "{added:?}");
    }
    lab.lab("report").is(0);
    let html = lab.read(".lab/report.html");
    assert!(html.contains("unknown key") && html.contains("<code>third</code>"));
    lab.write("decisions.toml", format!("claims = 1\n{board}"));
    checked(&lab, 1)
        .says("decisions.toml:1:1: unknown key 'claims'")
        .says("1 supported");
}

#[test]
fn a_key_that_stands_twice_makes_evidence_no_evidence() {
    let lab = supported();
    let evidence = lab.read("evidence/scale.json");
    let twice = evidence.replace("  \"runs\": 3,", "  \"runs\": 9,\n  \"runs\": 3,");
    assert_ne!(twice, evidence);
    lab.write("evidence/scale.json", twice);
    checked(&lab, 1).says("evidence/scale.json is damaged: the key 'runs' stands twice at line ");
    lab.lab("decisions")
        .is(0)
        .says("caveated: scale is listed, and cannot be read");
}

#[test]
fn evidence_names_its_commit_by_its_whole_id() {
    let lab = supported();
    let evidence = lab.read("evidence/scale.json");
    let commit = lab.git("rev-parse HEAD~1").trim().to_owned();
    let tree = lab.git("rev-parse HEAD~1^{tree}").trim().to_owned();
    let names_no_id = |name: &str| format!("its commit '{name}' is no full id of a commit");
    for (name, fault) in [
        ("HEAD~1", names_no_id("HEAD~1")),
        (&commit[..12], names_no_id(&commit[..12])),
        ("main", names_no_id("main")),
        (&tree, "git does not hold the commit".to_owned()),
    ] {
        let other = evidence.replace(&commit, name);
        assert_ne!(other, evidence);
        lab.write("evidence/scale.json", other);
        checked(&lab, 1).says(&format!("evidence scale: {fault}"));
    }
}

#[test]
fn what_was_cited_before_brings_nothing_that_is_to_be_made() {
    let lab = supported();
    lab.lab("decisions add older --bench 1").is(0);
    lab.lab("bench --runs 2").is(0);
    lab.lab("decisions add newer --bench 2").is(0);
    lab.lab("run");
    lab.lab("decisions add run --run 1").is(0);
    let text = lab.read("decisions.toml");
    let ticked = |done: &str, what: &str, listed: &str| {
        let next = format!(
            "next = [{{ what = \"{what}\", command = \"lab bench .\", done = \"{done}\" }}]\n"
        );
        lab.write(
            "decisions.toml",
            text.replace("[\"scale\"]", listed) + &next,
        );
        lab.lab("decisions").is(0).out
    };
    for (done, what, listed, why) in [
        (
            "scale",
            "more runs",
            "[\"scale\", \"newer\"]",
            "is the evidence that the decision began with",
        ),
        (
            "older",
            "more runs",
            "[\"scale\", \"older\"]",
            "was measured no later than 'scale', which is listed before it",
        ),
        (
            "scale",
            "more runs",
            "[\"newer\", \"scale\"]",
            "was measured no later than 'newer', which is listed before it",
        ),
        (
            "run",
            "more runs",
            "[\"scale\", \"run\"]",
            "was made by `lab run .`, and not by `lab bench .`",
        ),
        (
            "newer",
            "the same on an A10G",
            "[\"scale\", \"newer\"]",
            "was not measured on A10G",
        ),
        (
            "gone",
            "more runs",
            "[\"scale\", \"gone\"]",
            "cannot be read",
        ),
    ] {
        let board = ticked(done, what, listed);
        assert!(
            board.contains(&format!("next [ ] {what};")),
            "{why}: {board}"
        );
        checked(&lab, 1).says(&format!("'{what}' is not done: '{done}' {why}"));
    }
    let board = ticked("newer", "more runs", "[\"scale\", \"newer\"]");
    assert!(board.contains("next [x] newer: more runs;"), "{board}");
    checked(&lab, 0);
    // A run of lab could never tick it.
    let next = "next = [{ what = \"p95\", command = \"python3 steps.py\" }]\n";
    lab.write("decisions.toml", format!("{text}{next}"));
    checked(&lab, 0)
        .says("decisions.toml:8:18: its command makes no evidence of lab, so no run can");
}

#[test]
fn a_claim_about_all_of_something_needs_evidence_of_all() {
    let lab = supported();
    let text = lab.read("decisions.toml");
    const RATIO: &str = "On H200 it is {scale.f16.1x64.vs_f_scale} as fast as F.scale";
    let claimed = |words: &str, verdict: &str| {
        let claim = text.replace(CLAIM, &format!("{RATIO}{words}."));
        lab.write(
            "decisions.toml",
            claim.replace("verdict = \"faster\"", verdict),
        );
    };
    let faster = "verdict = \"faster\"";
    // The evidence has a ratio with its interval for each workload and peer.
    for words in [
        ", for every shape",
        ", for all of the sizes",
        ", regardless of the shape",
        ", never slower",
        ", faster than every peer",
        ", with a launch for each row",
    ] {
        claimed(words, faster);
        checked(&lab, 0).says("1 supported");
    }
    for (words, claims) in [
        (", on every GPU", "every gpu"),
        (", on any other device", "any other device"),
        (" everywhere", "everywhere"),
    ] {
        claimed(words, faster);
        checked(&lab, 1).says(&format!(
            "decisions.toml:5:9: '{claims}' claims more than its evidence shows: it was measured on NVIDIA H200 alone"
        ));
        lab.lab("decisions").is(0).says("1 caveated");
    }
    claimed(", never slower", "");
    checked(&lab, 1).says("state the `verdict` that holds on each workload");
    claimed(", for any size", "verdict = \"slower\"");
    checked(&lab, 1).says(
        "'any size' claims more than its evidence shows: scale.f16.1x64.vs_f_scale is not `slower`",
    );
    lab.write(
        "decisions.toml",
        text.replace(CLAIM, "It always takes {scale.f16.1x64.us}."),
    );
    checked(&lab, 1)
        .says("'always' claims more than its evidence shows: it cites no ratio to a peer");
}

#[test]
fn evidence_says_whether_the_tree_was_clean() {
    let lab = supported();
    let evidence =
        |lab: &Lab| -> Value { serde_json::from_str(&lab.read("evidence/scale.json")).unwrap() };
    assert_eq!(evidence(&lab)["clean_tree"], json!(true));
    lab.lab("decisions scale")
        .is(0)
        .says("the tree was clean: all tracked files");
    let report = |lab: &Lab| {
        lab.lab("report").is(0);
        lab.read(".lab/report.html")
    };
    assert!(report(&lab).contains("<small>clean tree</small>"));
    // The board is no file that decides a figure; a page about the kernel may be one.
    lab.write("README.md", "one\n");
    lab.git("add README.md");
    lab.git("commit -qm page");
    lab.write("README.md", "two\n");
    lab.lab("bench --runs 3").is(0);
    lab.lab("decisions add scale --bench 2 --replace").is(0);
    assert_eq!(evidence(&lab)["clean_tree"], json!(false));
    lab.lab("decisions")
        .is(0)
        .says("caveated: scale is not from a clean tree: tracked files were changed while it was measured");
    assert!(report(&lab).contains("! tracked files were changed while it was measured"));
    // A record of an earlier lab does not say it.
    let mut old = evidence(&lab);
    old.as_object_mut().unwrap().remove("clean_tree");
    lab.write("evidence/scale.json", old.to_string());
    lab.lab("decisions scale")
        .is(0)
        .says("its record does not say whether the tree was clean");
}
