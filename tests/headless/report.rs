//! `lab report` and `lab plot`: the file, the chart, the comment for a pull request.

use crate::lab::Lab;
use crate::{decisions, ls, twice};
use std::collections::HashSet;
use std::fs;

/// The report of a repository. It holds neither script nor network, and each of its links leads to a
/// place in it.
#[track_caller]
fn report(lab: &Lab) -> String {
    lab.lab("report --out report.html").is(0);
    let html = lab.read("report.html");
    for word in ["http", "<script", "javascript:", "src=", "@import", "url("] {
        assert!(!html.contains(word), "{word} is in the report");
    }
    let all = |mark: &str| -> Vec<String> {
        let parts = html.split(mark).skip(1);
        parts
            .map(|part| part[..part.find('"').unwrap()].to_owned())
            .collect()
    };
    let ids = all(" id=\"");
    let places: HashSet<&String> = ids.iter().collect();
    assert_eq!(places.len(), ids.len(), "an id is there twice");
    for link in all("href=\"") {
        let place = link.strip_prefix('#').unwrap().to_owned();
        assert!(places.contains(&place), "{link} leads nowhere");
    }
    assert!(html.len() < 2_000_000, "{}", html.len());
    html
}

/// The text of a part of a page, its lines without blanks at their ends.
fn text(html: &str) -> String {
    let mut text = String::new();
    let mut is_text = true;
    for c in html.chars() {
        match c {
            '<' => is_text = false,
            '>' => {
                is_text = true;
                text.push(' ');
            }
            _ if is_text => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the page says from one heading to the next.
fn section(html: &str, heading: &str) -> String {
    let from = html.split(&format!(">{heading}</h2>")).nth(1).unwrap();
    text(from.split("<h2").next().unwrap())
}

#[test]
fn a_report_shows_each_kernel_with_its_chart_its_experiments_and_its_diffs() {
    let lab = ls::worked_on();
    let html = report(&lab);
    let kernels = section(&html, "Kernels");
    assert!(
        kernels.contains("kernels/scale 2,000 sps 500 80 2 1")
            && kernels.contains("1.25× F.scale (1.20 … 1.30), 1.05× torch.compile"),
        "{kernels}"
    );
    let scale = section(&html, "kernels/scale");
    for said in [
        "On Test GPU",
        "1 discarded, 2 kept, best kept 2,000 sps, floor 2,500",
        "3 discard tried 1,500 666.7",
        "2 keep tried 2,000 500 +100.0 % vs its record",
        "1 keep tried 1,000 1,000",
        "F.scale 1.25× (1.20 … 1.30)",
        "+// throughput_sps: 2000",
    ] {
        assert!(scale.contains(said), "{said}: {scale}");
    }
    assert!(section(&html, "kernels/new").contains("No experiment was decided yet."));
    assert_eq!(html.matches("role=\"img\"").count(), 2);

    let answer = lab.lab("report kernels/scale --json").is(0).json();
    assert_eq!(answer["experiments"], 3);
    assert_eq!(answer["kernels"], 1);
    let file = answer["file"].as_str().unwrap();
    assert!(file.ends_with("/.lab/report.html"), "{file}");
    assert!(
        !fs::read_to_string(file)
            .unwrap()
            .contains("kernels/softmax")
    );
    assert_eq!(lab.git("status --porcelain"), "?? report.html\n");
}

#[test]
fn the_bytes_and_operations_of_a_launch_are_those_that_the_run_tells() {
    let lab = Lab::new();
    let kept = |amounts: &str| {
        lab.harness(&format!(
            "echo 'device: Test GPU'; echo 'correctness: pass'; echo 'throughput_sps: 5'\n\
             echo 'workload: rows=1 kernel_us=10 gbps=13.16 gflops=24.58{amounts} correctness=pass'"
        ));
        lab.git("commit -qam harness");
        lab.write("kernel.cu", format!("// {amounts}\n"));
        lab.lab("run").is(0);
        lab.lab("keep -m tried").is(0);
        text(&report(&lab))
    };
    let without = kept("");
    assert!(
        without.contains("GB/s") && !without.contains("bytes a launch operations"),
        "{without}"
    );
    let with = kept(" bytes=131584 flops=245760");
    assert!(
        with.contains("bytes a launch operations a launch"),
        "{with}"
    );
    assert!(with.contains("131,584 245,760"), "{with}");
}

#[test]
fn what_somebody_wrote_is_shown_as_text() {
    let lab = Lab::new();
    lab.passing(900.0);
    lab.lab("run").is(0);
    lab.lab("keep -m 'a <b> & \"c\"'").is(0);
    let hostile = format!(
        "<script>alert(1)</script>\u{202e}\u{1b}[31m {}",
        "<".repeat(4_000)
    );
    let rows =
        lab.read("results.tsv") + &format!("deadbee\t800.0\t1.0\tpass\tdiscard\t{hostile}\n");
    lab.write("results.tsv", rows);
    let html = report(&lab);
    for said in [
        "a &#60;b&#62; &#38; &#34;c&#34;",
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        " characters)",
    ] {
        assert!(html.contains(said), "{said}: {html}");
    }
    assert!(!html.contains(['\u{202e}', '\u{1b}']), "{html}");
    let plot = lab.lab("plot").is(0).out;
    assert!(
        plot.contains("<svg xmlns=") && !plot.contains("<script"),
        "{plot}"
    );
    // The unit is above its numbers, and the experiments are counted in whole ones.
    for said in ["x=\"8\" y=\"19\">sps<", ">experiment", ">1<"] {
        assert!(plot.contains(said), "{said}: {plot}");
    }
    assert!(!plot.contains(">1.5<"), "{plot}");
}

#[test]
fn emulated_figures_have_no_best_and_are_compared_with_nothing() {
    let lab = twice::repository(&twice::problem("[[workload]]\ndims = { n = 30 }\n"), &[]);
    for text in ["// one\n", "// two\n"] {
        lab.write("kernel.cu", twice::KERNEL.to_owned() + text);
        lab.lab("run").is(0);
        lab.lab("keep -m first").is(0);
    }
    let html = report(&lab);
    let said = text(&html);
    assert!(
        said.contains("the times say nothing about a GPU") && said.contains("2 keep first ~"),
        "{said}"
    );
    assert!(
        !said.contains("best kept") && !html.contains("class=\"best-kept\""),
        "{said}"
    );
    let plot = lab.lab("plot").is(0).out;
    assert!(plot.contains("emulated times"), "{plot}");
}

#[test]
fn a_report_begins_with_the_board() {
    let lab = decisions::supported();
    let html = report(&lab);
    let board = section(&html, "Decisions");
    for said in [
        "1 supported, 0 measured, 0 caveated, 0 rejected",
        "Memory Scaling",
        "On H200 it is 10.2× as fast as F.scale, and takes 10 µs",
        "supported : the stated verdict holds on every named workload",
        "lab bench . --runs 3 on 20",
        "driver 580.1, SM clock 1980 (1975 … 1980) MHz",
        "Each workload of scale workload µs (fastest … slowest run) speed over F.scale",
        "rows=1 cols=64 T=f16 10.00 (10.00 … 10.00) 10.2× (10.1 … 10.3)",
        "F.scale scale F.scale(x, 2.0) torch=2.11.0",
    ] {
        assert!(board.contains(said), "{said}: {board}");
    }
}

#[test]
fn a_decision_is_shown_with_its_ratios_to_each_peer() {
    let lab = decisions::supported();
    let bar = "f16.1x64 beside F.scale: 10.2× (10.1 … 10.3)";
    let html = report(&lab);
    assert!(
        html.contains(&format!("<title>{bar}</title>"))
            && html.contains("f16.1x64 on NVIDIA H200\""),
        "{html}"
    );
    assert!(!html.contains("102×"), "a peer's time is no ratio: {html}");
    // The time of a bench stands between its fastest and its slowest run.
    assert!(html.contains("µs (fastest … slowest run)"), "{html}");
    assert!(html.contains("<h4>Peers of the evidence</h4>"), "{html}");
    fs::remove_file(lab.path(".lab/bench/1/peers.json")).unwrap();
    lab.lab("decisions add scale --bench 1 --replace").is(0);
    let html = report(&lab);
    assert!(!html.contains("Peers of the evidence"), "{html}");
    // Without a peer there is the time.
    let plot = lab.lab("plot --decision scale").is(0).out;
    assert!(
        plot.contains("f16.1x64: 10 µs (10 … 10)</title>")
            && plot.contains(">Scaling: time of a launch</text>"),
        "{plot}"
    );
    let lab = decisions::supported();
    let plot = lab.lab("plot --decision scale").is(0).out;
    assert!(
        plot.contains(bar) && plot.contains(">Scaling: speed beside each peer</text>"),
        "{plot}"
    );
    lab.lab("plot --decision scael")
        .is(1)
        .says("(did you mean scale?)");
    lab.lab("plot --roofline").is(1).says("has no roofline yet");
}

#[test]
fn a_roofline_lies_below_the_dense_peak_of_the_data_sheet() {
    let kept = |device: &str, of: &str| {
        let lab = Lab::new();
        lab.harness(&format!(
            "echo 'device: {device}'; echo 'correctness: pass'; echo 'throughput_sps: 5'\n\
             echo 'workload: m=64 T=bf16 kernel_us=10 {of} of_floor=28.4 correctness=pass'"
        ));
        lab.git("commit -qam harness");
        lab.write("kernel.cu", "// tried\n");
        lab.lab("run").is(0);
        lab.lab("keep -m tried").is(0);
        lab
    };
    let lab = kept("NVIDIA H200", "gbps=1000 gflops=700000");
    let plot = lab.lab("plot --roofline").is(0).out;
    for said in [
        "m=64 T=bf16: 700,000 GFLOP/s, 700 operations for each byte, 70.74 % of its roof",
        "what the data sheet of NVIDIA H200 allows: DRAM 4,800 GB/s; bf16, f16 989.5 TFLOP/s dense.",
        "class=\"roof\"",
    ] {
        assert!(plot.contains(said), "{said}: {plot}");
    }
    assert!(text(&report(&lab)).contains("Roofline of kernel.cu on NVIDIA H200"));
    // Each kernel without a roofline says why.
    for (device, of, why) in [
        (
            "Test GPU",
            "gbps=1000 gflops=700000",
            "no data sheet of Test GPU is known here",
        ),
        (
            "NVIDIA H200",
            "gbps=1000",
            "no rate of operations and bytes",
        ),
    ] {
        let lab = kept(device, of);
        lab.lab("plot --roofline").is(1).says(why);
        let html = report(&lab);
        assert!(
            html.contains("There is no roofline: ") && html.contains(why),
            "{html}"
        );
    }
}

#[test]
fn what_decisions_share_is_in_the_file_once_and_the_rest_is_bounded() {
    let lab = decisions::supported();
    let one = lab.read("decisions.toml");
    let of = |count: usize| -> String {
        let named = |nth| one.replacen("id = \"scale\"", &format!("id = \"scale{nth}\""), 1);
        (0..count).map(named).collect()
    };
    lab.write("decisions.toml", of(30));
    let html = report(&lab);
    assert_eq!(html.matches("<article").count(), 30);
    assert_eq!(html.matches("role=\"img\"").count(), 1);
    assert_eq!(html.matches("Each workload of scale</summary>").count(), 1);
    let link = "Its chart is that of <a href=\"#d-scale0\">Scaling</a>.";
    assert_eq!(html.matches(link).count(), 29);
    lab.write("decisions.toml", of(1_500));
    let html = report(&lab);
    let shown = html.matches("<article").count();
    assert!((100..1_000).contains(&shown), "{shown}");
    assert!(html.len() < 600_000, "{}", html.len());
    let said = text(&html);
    for text in [
        format!("this file shows {shown} of 1500 decisions."),
        format!("{} more", 1_500 - shown),
    ] {
        assert!(said.contains(&text), "{text}: {said}");
    }
}

#[test]
fn a_chart_is_a_picture_too() {
    let lab = decisions::supported();
    lab.write("other.png", "a picture of somebody");
    lab.lab("plot --decision scale --out other.png")
        .is(1)
        .says("no lab made it");
    for _ in 0..2 {
        lab.lab("plot --decision scale --out chart.png").is(0);
    }
    let bytes = fs::read(lab.path("chart.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Width and height, each twice that of the SVG.
    let [width, height] =
        [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
    let svg = lab.lab("plot --decision scale").is(0).out;
    lab.lab("plot --decision scale -o chart.svg").is(0);
    assert_eq!(lab.read("chart.svg").trim_end(), svg.trim_end());
    let size = format!("width=\"{}\" height=\"{}\"", width / 2, height / 2);
    assert!(svg.contains(&size), "{size}: {svg}");
}

#[test]
fn a_branch_is_told_as_a_comment_for_a_pull_request() {
    let lab = ls::worked_on();
    lab.git("checkout -qb exp/faster");
    lab.lab("report --markdown")
        .is(0)
        .says("No kernel changed since main");
    let decide = |speed: f64, decision: &str| {
        lab.write("kernels/scale/kernel.cu", ls::lines(speed, ""));
        lab.lab("run kernels/scale").is(0);
        lab.lab(decision).is(0);
    };
    decide(
        2200.0,
        "keep kernels/scale -m 'tiles of *16* for @someone' --trailer 'Lesson: a|b <i> #12'",
    );
    decide(900.0, "discard kernels/scale -m no");
    let comment = lab.lab("report --markdown").is(0).out;
    for line in [
        "<!-- made by lab -->",
        "| kernels/scale/kernel.cu | 2,000 sps | 2,200 sps | +10.0 % vs its record | Test GPU |  | 1 | 2 |",
        "tiles of \\*16\\* for @<!-- -->someone (**+10.0 % vs its record**)",
        "  - Lesson: a\\|b &lt;i&gt; #<!-- -->12",
    ] {
        assert!(comment.contains(line), "{line}: {comment}");
    }
    assert!(!comment.contains("softmax"), "{comment}");
    // Of kernels that are named alone.
    let of_it = lab.lab("report kernels/scale --markdown").is(0).out;
    assert_eq!(of_it, comment);
    lab.lab("report kernels/softmax --markdown")
        .is(0)
        .says("No kernel changed since main");
    decide(2300.0, "keep kernels/scale -m 'wider'");
    lab.lab("report --markdown")
        .is(0)
        .says("+15.0 %, not timed in turns");
    lab.lab("report --markdown --base nothing")
        .is(1)
        .says("'nothing'");
}

#[test]
fn a_file_that_lab_did_not_make_stays() {
    let lab = Lab::new();
    for command in [
        "report --out kernel.cu",
        "plot --out kernel.svg",
        "report --markdown --out kernel.cu",
    ] {
        lab.write("kernel.svg", "// the first\n");
        lab.lab(command).is(1);
    }
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    lab.lab("plot --out chart.gif")
        .is(1)
        .says("must end in .svg or .png");
    lab.lab("plot").is(1).says("no experiment to plot yet");
    lab.lab("report --out report.html").is(0);
    lab.lab("report --out report.html").is(0);
    lab.lab("report --out gone/report.html")
        .is(1)
        .says("there is no folder gone");
}
