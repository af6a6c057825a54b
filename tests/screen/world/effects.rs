//! The world's side of the screen: it carries out effects as the session would, and answers with
//! events.

use super::made::{record, themes, void};
use super::{KERNEL, World};
use lab_run::inputs::Inputs;
use lab_run::{Ending, Fingerprint};
use lab_runner::RunEvent;
use lab_tui::effect::Effect;
use lab_tui::event::Event;
use lab_tui::highlight::{HighlightCache, Highlighter};
use lab_tui::reply::{HighlightReply, RepositoryReply};
use lab_tui::request::{Export, HighlightRequest, RepositoryRequest, SettingsRequest};
use lab_watch::WatchEvent;
use std::sync::{Arc, OnceLock};

fn highlighter() -> &'static Highlighter {
    static ONE: OnceLock<Highlighter> = OnceLock::new();
    ONE.get_or_init(|| Highlighter::new().unwrap())
}

/// Whether it judges or decides, or changes what others see.
fn is_change(effect: &Effect) -> bool {
    use RepositoryRequest::{Change, Cite, Loop, Trust};
    match effect {
        Effect::StartRun(..) | Effect::StartProfile | Effect::StopProfile | Effect::StopKeep => {
            true
        }
        Effect::Repository(request) => {
            matches!(request, Change(_) | Cite(..) | Loop(_) | Trust(_))
        }
        _ => false,
    }
}

impl World {
    pub fn send(&mut self, event: Event) {
        let update = lab_tui::update(&mut self.model, event, self.now);
        self.carry_out(update.effects);
    }

    pub(super) fn answer(&mut self) {
        while let Some(event) = self.answers.pop_front() {
            self.send(event);
        }
    }

    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if is_change(&effect) {
                self.changes.push(format!("{effect:?}"));
            }
            match effect {
                Effect::StartRun(reason, _) => self.start(reason),
                Effect::KillRun => {
                    if let Some((start, report)) = self.live.take() {
                        let verdict = void("it was ended before it was done");
                        let record = record(start, &report, Ending::Superseded, verdict);
                        self.answers
                            .push_back(Event::Run(RunEvent::Ended(Box::new(record))));
                    }
                }
                Effect::Refresh => self.ask(RepositoryRequest::Look),
                Effect::Repository(request) => self.ask(request),
                Effect::View(wish) => self.read(wish),
                Effect::Copy(text) => self.clipboard = text,
                Effect::Settings(SettingsRequest::SaveLayout(layout)) => self.layout = *layout,
                Effect::Settings(SettingsRequest::SaveChoice(choice)) => self.choice = choice,
                Effect::Settings(SettingsRequest::ListThemes) => {
                    let themes = themes(&self.model.appearance.settings);
                    self.answers.push_back(Event::Themes(themes));
                }
                Effect::Highlight(HighlightRequest {
                    which,
                    language,
                    text,
                }) => {
                    let mut cache = HighlightCache::new(language);
                    let colours = highlighter().highlight(text.as_bytes(), &mut cache);
                    self.answers.push_back(Event::Highlighted(HighlightReply {
                        which,
                        text,
                        colours,
                    }));
                }
                other => {
                    // No other screen opens here: the keys are for this one.
                    self.model.frame.typed = None;
                    self.asked.push(format!("{other:?}"));
                }
            }
        }
    }

    fn ask(&mut self, request: RepositoryRequest) {
        match request {
            RepositoryRequest::Look => {
                self.answers
                    .push_back(Event::Repository(RepositoryReply::Overview(Box::new(
                        self.facts(),
                    ))));
            }
            RepositoryRequest::Log(run) => self.load_log(run),
            RepositoryRequest::Change(change) => self.change(change),
            RepositoryRequest::Cite(source, decision) => {
                let record = source.map_or("the newest bench".to_owned(), |it| it.to_string());
                let said = format!("{record} is evidence of {decision}");
                self.answers
                    .push_back(Event::Repository(RepositoryReply::Cited(Ok(said))));
            }
            RepositoryRequest::Export(export) => {
                let (name, text) = match export {
                    Export::Chart => ("chart-1.svg".to_owned(), String::new()),
                    Export::Text { what, ending, text } => (format!("{what}-1.{ending}"), text),
                };
                self.exported = text;
                let reply = RepositoryReply::Exported(Ok(format!(".lab/exports/{name}")));
                self.answers.push_back(Event::Repository(reply));
            }
            RepositoryRequest::Undoable => {
                let undoable = self.undoable();
                self.answers
                    .push_back(Event::Repository(RepositoryReply::Undoable(undoable)));
            }
            RepositoryRequest::Trust(_) => {
                self.trusted = true;
                self.answers
                    .push_back(Event::Repository(RepositoryReply::Trusted(Ok(()))));
            }
            RepositoryRequest::Loop(asked) => {
                self.asked.push(format!("{request:?}"));
                self.answers
                    .push_back(Event::Repository(RepositoryReply::LoopAsked(asked, Ok(()))));
            }
            RepositoryRequest::Reopen => self.asked.push(format!("{request:?}")),
        }
    }

    pub(super) fn changed(&self, beside_loop: bool) -> Event {
        Event::Watch(WatchEvent::Changed {
            files: vec![KERNEL.into()],
            inputs: Arc::new(Inputs {
                sources: Vec::new(),
                fingerprint: Fingerprint(self.disk.clone()),
                outside: Vec::new(),
            }),
            config: false,
            beside_loop,
        })
    }
}
