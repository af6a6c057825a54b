//! The report of a long history, and in a headless Chromium: as wide as a phone, as a laptop, and
//! printed. The latter is ignored where no Chromium is found.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "../../../examples/make-history/repository.rs"]
mod repository;
#[path = "../../../harness/device/tests/support/trials.rs"]
mod trials;

use lab_board::Board;
use lab_git::Repo;
use lab_project::Project;
use lab_report::{Html, Plotted};
use libtest_mimic::{Failed, Trial};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Opens the report in a frame of each width, and writes into its own page what it finds.
const LOOK: &str = r#"<!doctype html><pre id="found"></pre><script>
const found = [], widths = [390, 1280];
const look = width => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    if (root.scrollWidth > width) found.push(`${width}: ${root.scrollWidth} wide`);
    for (const link of page.querySelectorAll('a')) {
      const href = (link.getAttribute('href') || '');
      if (!page.getElementById(decodeURIComponent(href.slice(1)))) found.push(`${width}: ${href} leads nowhere`);
    }
    for (const text of page.querySelectorAll('svg[role=img] text')) {
      const {x, width: wide} = text.getBBox();
      if (x < 0 || x + wide > 760) found.push(`${text.textContent} is cut off`);
    }
    for (const chart of page.querySelectorAll('svg[role=img]'))
      if (!chart.querySelector('title').textContent || chart.getBoundingClientRect().height < 100) found.push('a chart is not drawn');
    found.push(`${width}: ${page.querySelectorAll('svg[role=img]').length} charts, ${page.querySelectorAll('tr[id]').length} rows`);
    done();
  };
  frame.src = 'report.html';
  document.body.append(frame);
});
(async () => { for (const width of widths) await look(width); document.getElementById('found').textContent = found.join('\n') + '\nend'; })();
</script>"#;

fn main() -> ExitCode {
    let paths = env::var_os("PATH").unwrap_or_default();
    let mut all = env::split_paths(&paths).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let chromium = all.find(|path| path.is_file());
    let missing = chromium.is_none().then_some("no Chromium");
    let trial = trials::trial("a_phone_a_laptop_and_paper", missing, move || {
        look(&chromium.unwrap());
        Ok::<(), Failed>(())
    });
    let long = Trial::test("a_long_history_is_summarised", || {
        summarise();
        Ok(())
    });
    let decided = Trial::test("each_decision_of_this_repository_has_a_chart", || {
        charts_of_decisions();
        Ok(())
    });
    libtest_mimic::run(&trials::arguments(), vec![trial, long, decided]).exit_code()
}

/// The repository of this program.
fn own() -> Project {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Project::of_any(&root.canonicalize().unwrap()).unwrap()
}

fn charts_of_decisions() {
    let project = own();
    let board = Board::read(&Repo::open(&project).unwrap()).unwrap();
    assert!(board.decisions.len() > 10);
    for decision in &board.decisions {
        let id = &decision.id;
        let chart = lab_report::plot(&project, Plotted::Decision(id), false).unwrap();
        let chart = String::from_utf8(chart).unwrap();
        // The names of the rows end where the bars begin.
        let rows = chart.split("<text class=\"end\" x=\"").skip(1);
        let rows = rows.map(|row| row.split("</text>").next().unwrap());
        let (mut at, mut names) = (None, HashSet::new());
        for row in rows {
            let (x, name) = row.split_once('"').unwrap();
            let name = name.split_once('>').unwrap().1;
            if *at.get_or_insert(x) == x {
                assert!(names.insert(name), "two rows of {id} are called {name}");
            }
        }
        assert!(!names.is_empty(), "{id}: {chart}");
    }
    let said = |id: &str, text: &str| {
        let chart = lab_report::plot(&project, Plotted::Decision(id), false).unwrap();
        let chart = String::from_utf8(chart).unwrap();
        assert!(chart.contains(text), "{text}: {chart}");
    };
    said("wavegru", ">9,771 µs (9,751 … 9,800)</text>");
    said("matmul_profile", "8192x8192x8192, tensor: 98.02 %</title>");
    said("decode_graph", ">4x1024x4096x2048x2048x2048</text>");
}

/// The report of a repository with so many experiments.
fn report(folder: &Path, experiments: usize) -> Html {
    repository::make(folder, experiments, 3).unwrap();
    let project = Project::open(folder, None).unwrap();
    lab_report::html(&project, &[]).unwrap()
}

fn summarise() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("repo");
    let report = report(&folder, 2_500);
    let project = Project::open(&folder, None).unwrap();
    let chart = lab_report::plot(&project, Plotted::Experiments, false).unwrap();
    let chart = String::from_utf8(chart).unwrap();
    assert_eq!(chart.matches("<title>").count(), 2_000);
    let Html { text, listed, .. } = &report;
    assert!(text.len() < 2_000_000, "{}", text.len());
    assert!((1_000..2_500).contains(listed), "{listed}");
    for said in [
        &*format!("lists the newest {listed} of 2500 experiments"),
        &*format!("<th scope=\"row\">1 to {}</th>", 2_500 - listed),
        "id=\"k1-1-e2500\"",
    ] {
        assert!(text.contains(said), "{said}");
    }
    for link in text.split("href=\"#").skip(1) {
        let id = &link[..=link.find('"').unwrap()];
        assert!(text.contains(&format!("id=\"{id}")), "{id} leads nowhere");
    }
}

fn look(chromium: &Path) {
    let temp = tempfile::tempdir().unwrap();
    let report = report(&temp.path().join("repo"), 300);
    let at = |name: &str| -> PathBuf { temp.path().join(name) };
    fs::write(at("report.html"), &report.text).unwrap();
    fs::write(at("look.html"), LOOK).unwrap();
    let run = |args: &[&str], page: &str| {
        let mut command = Command::new(chromium);
        command
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
            ])
            .args([
                "--allow-file-access-from-files",
                "--virtual-time-budget=20000",
            ])
            .arg(format!("--user-data-dir={}", at("profile").display()))
            .args(args)
            .arg(format!("file://{}", at(page).display()))
            .env("HOME", temp.path());
        let ended = command.output().unwrap();
        let [out, err] =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(!err.contains("CONSOLE"), "{err}");
        (out, err)
    };
    let found = || {
        let (page, err) = run(&["--dump-dom"], "look.html");
        let found = page.split("<pre id=\"found\">").nth(1).unwrap_or_default();
        let found = found.split("</pre>").next().unwrap_or_default();
        assert!(found.trim().ends_with("end"), "{found} {err}");
        found.trim().to_owned()
    };
    let rows = report.listed;
    let expected = [390, 1280].map(|width| format!("{width}: 1 charts, {rows} rows"));
    assert_eq!(found(), format!("{}\nend", expected.join("\n")));
    // The board of this repository: no text is cut off, no link leads nowhere.
    let board = lab_report::html(&own(), &[]).unwrap();
    fs::write(at("report.html"), &board.text).unwrap();
    let found = found();
    assert_eq!(found.lines().count(), 3, "{found}");
    // On paper every part is open, without a script.
    let pages = |name: &str, html: &str| -> usize {
        fs::write(at(name), html).unwrap();
        let pdf = at("report.pdf");
        run(&[&format!("--print-to-pdf={}", pdf.display())], name);
        let pdf = fs::read(pdf).unwrap();
        pdf.windows(11)
            .filter(|part| part == b"/Type /Page")
            .count()
    };
    let html = &report.text;
    let closed = html.replace("details::details-content", "details::nothing");
    let opened = closed.replace("<details", "<details open");
    let [closed, opened] =
        [("closed.html", closed), ("opened.html", opened)].map(|(name, html)| pages(name, &html));
    assert!(opened > closed + 1, "{opened} pages, closed {closed}");
    assert_eq!(pages("paper.html", html), opened);
}
