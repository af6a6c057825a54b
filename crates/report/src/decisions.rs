//! The board of decisions, as much of it as the file has room for. What several decisions share is
//! in the file once: a chart with the first of them, the rows and the table of each piece of evidence
//! in tables of their own.

use crate::bars;
use crate::chart::Chart;
use crate::rows;
use crate::workloads::{self, Workloads};
use askama::Template;
use lab_board::{Board, Decision, Evidence, Held, Piece, Status, words};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes that texts of decisions and rows of evidence may take, and those of charts and tables.
const TEXTS: usize = 300_000;
const DRAWINGS: usize = 350_000;

/// Bytes of markup around a decision in the matrix.
const LINK: usize = 60;

/// Problems that are listed.
const PROBLEMS: usize = 20;

/// The section of the report.
#[derive(Template)]
#[template(path = "board.html")]
pub struct BoardSection<'a> {
    board: &'a Board,
    domains: Vec<Domain<'a>>,
    evidence: BTreeMap<&'a str, EvidenceParts>,
    /// Decisions that the file shows.
    shown: usize,
}

/// The decisions of a domain that the file shows.
struct Domain<'a> {
    name: &'a str,
    decisions: Vec<&'a Decision>,
    /// As HTML.
    articles: Vec<String>,
    /// The others, by their status.
    more: [usize; Status::ALL.len()],
}

/// A piece of evidence as HTML.
struct EvidenceParts {
    row: String,
    /// Rows of its peers.
    peers: String,
    /// Empty without times of workloads, or without room.
    table: String,
}

/// The chart of a decision.
enum Drawn<'a> {
    Own(Box<Chart>),
    /// Another decision with this id and title has the same one.
    With(&'a str, &'a str),
    /// The file has no room for it.
    LeftOut,
    /// No evidence has figures.
    Nothing,
}

#[derive(Template)]
#[template(path = "decision.html")]
struct Article<'a> {
    decision: &'a Decision,
    board: &'a Board,
    drawn: Drawn<'a>,
    /// The evidence whose table is in the file.
    tables: &'a BTreeSet<&'a str>,
}

#[derive(Template)]
#[template(path = "evidence.html")]
struct EvidenceRow<'a> {
    id: &'a str,
    held: &'a Held,
    of: &'a Evidence,
    /// The id of its kernel's section; empty without one.
    section: &'a str,
}

#[derive(Template)]
#[template(path = "peers.html")]
struct PeerRows<'a> {
    id: &'a str,
    of: &'a Evidence,
}

/// What is in the file so far.
struct Filling<'a> {
    board: &'a Board,
    /// The id of each kernel's section.
    sections: &'a HashMap<&'a str, String>,
    /// Bytes that are left.
    texts: usize,
    drawings: usize,
    evidence: BTreeMap<&'a str, EvidenceParts>,
    /// The evidence whose table is in the file.
    tables: BTreeSet<&'a str>,
    /// The decision that shows a chart, by the chart's key.
    charts: HashMap<String, (&'a str, &'a str)>,
}

impl Domain<'_> {
    /// How many decisions with this status the file does not show. A template gives a reference.
    fn more(&self, status: impl Borrow<Status>) -> usize {
        let at = Status::ALL.iter().position(|it| it == status.borrow());
        at.map_or(0, |at| self.more[at])
    }
}

impl<'a> BoardSection<'a> {
    /// `sections` has the id of each kernel's section.
    pub fn of(board: &'a Board, sections: &'a HashMap<&'a str, String>) -> askama::Result<Self> {
        let mut filling = Filling {
            board,
            sections,
            texts: TEXTS,
            drawings: DRAWINGS,
            evidence: BTreeMap::new(),
            tables: BTreeSet::new(),
            charts: HashMap::new(),
        };
        let (mut domains, mut shown) = (Vec::new(), 0);
        for (name, decisions) in board.domains() {
            let mut domain = Domain {
                name,
                decisions: Vec::new(),
                articles: Vec::new(),
                more: [0; Status::ALL.len()],
            };
            for decision in decisions {
                match filling.take(decision)? {
                    Some(article) => {
                        domain.decisions.push(decision);
                        domain.articles.push(article);
                        shown += 1;
                    }
                    None => {
                        let of = Status::ALL.iter().position(|it| *it == decision.status);
                        domain.more[of.unwrap_or_default()] += 1;
                    }
                }
            }
            domains.extend((!domain.articles.is_empty()).then_some(domain));
        }
        Ok(BoardSection {
            board,
            domains,
            evidence: filling.evidence,
            shown,
        })
    }

    fn left_out(&self) -> usize {
        self.board.decisions.len() - self.shown
    }

    fn has_peers(&self) -> bool {
        self.evidence.values().any(|parts| !parts.peers.is_empty())
    }

    fn has_tables(&self) -> bool {
        self.evidence.values().any(|parts| !parts.table.is_empty())
    }
}

impl<'a> Filling<'a> {
    /// A decision as HTML, with its evidence in the tables. `None` if it does not fit: then no later
    /// one does.
    fn take(&mut self, decision: &'a Decision) -> askama::Result<Option<String>> {
        if self.texts == 0 {
            return Ok(None);
        }
        let done = decision.next.iter().filter_map(|next| next.done.as_ref());
        let new = decision.evidence.iter().chain(done);
        let new: BTreeSet<&'a str> = new
            .map(String::as_str)
            .filter(|id| !self.evidence.contains_key(id))
            .collect();
        let board = self.board;
        let held = new
            .into_iter()
            .filter_map(|id| Some((id, board.evidence.get(id)?)));
        let (mut needs, mut parts) = (0, Vec::new());
        for (id, held) in held {
            let of = self.evidence_parts(id, held)?;
            needs += of.row.len() + of.peers.len();
            parts.push((id, of));
        }
        let drawn = self.draw(decision);
        let chart = match &drawn {
            Drawn::Own(chart) => chart.render()?.len(),
            _ => 0,
        };
        let article = Article {
            decision,
            board: self.board,
            drawn,
            tables: &self.tables,
        };
        let article = article.render()?;
        needs += article.len() - chart + decision.title.len() + decision.id.len() + LINK;
        let Some(left) = self.texts.checked_sub(needs) else {
            self.texts = 0;
            return Ok(None);
        };
        self.texts = left;
        self.evidence.extend(parts);
        Ok(Some(article))
    }

    fn evidence_parts(&mut self, id: &'a str, held: &'a Held) -> askama::Result<EvidenceParts> {
        let of = &held.evidence;
        let section = self.sections.get(of.kernel.as_str());
        let row = EvidenceRow {
            id,
            held,
            of,
            section: section.map_or("", String::as_str),
        };
        let mut table = String::new();
        if let Some(of) = Workloads::of_evidence(of).filter(|_| self.drawings > 0) {
            table = of.render()?;
            if self.has_room(table.len()) {
                self.tables.insert(id);
            } else {
                table.clear();
            }
        }
        Ok(EvidenceParts {
            row: row.render()?,
            peers: PeerRows { id, of }.render()?.trim_end().to_owned(),
            table,
        })
    }

    fn draw(&mut self, decision: &'a Decision) -> Drawn<'a> {
        let key = bars::key(decision);
        if let Some((id, title)) = self.charts.get(&key) {
            return Drawn::With(id, title);
        }
        if self.drawings == 0 {
            return Drawn::LeftOut;
        }
        let Some(chart) = bars::of(decision, self.board) else {
            return Drawn::Nothing;
        };
        if !self.has_room(chart.render().map_or(0, |text| text.len())) {
            return Drawn::LeftOut;
        }
        self.charts.insert(key, (&decision.id, &decision.title));
        Drawn::Own(Box::new(chart))
    }

    /// Takes so many bytes for a chart or a table. After the first that does not fit there is no
    /// room.
    fn has_room(&mut self, bytes: usize) -> bool {
        let left = self.drawings.checked_sub(bytes);
        self.drawings = left.unwrap_or_default();
        left.is_some()
    }
}
