//! A thread of the screen that answers requests one after the other. A request can replace an
//! earlier one that still waits, so that only the latest is answered.

use lab_runner::process::Control;
use lab_system::threads::{self, lock};
use lab_tui::event::Event;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Dropping it ends the thread once all requests are answered. Work with a control is ended.
pub struct Worker<R> {
    requests: Option<Sender<R>>,
    running: Arc<Mutex<Running>>,
    thread: Option<JoinHandle<()>>,
}

/// The work that another thread can end.
#[derive(Default)]
struct Running {
    /// The work holds it, so its descriptor is closed when the work ends.
    control: Weak<Control>,
    /// The screen closes: what begins now is ended at once.
    is_closing: bool,
}

/// The requests as the thread sees them.
pub struct Requests<R> {
    receiver: Receiver<R>,
    waiting: VecDeque<R>,
    replaces: fn(&R, &R) -> bool,
    running: Arc<Mutex<Running>>,
}

/// The error and its causes, in one line.
pub fn in_words(error: anyhow::Error) -> String {
    lab_git::told(&error)
}

impl<R: Send + 'static> Worker<R> {
    /// Starts the thread. `replaces` says whether the second request replaces the first one.
    pub fn start(
        name: &str,
        replaces: fn(&R, &R) -> bool,
        work: impl FnOnce(&mut Requests<R>) + Send + 'static,
    ) -> io::Result<Self> {
        let (requests, receiver) = mpsc::channel();
        let mut of_thread = Requests::new(receiver, replaces);
        let running = Arc::clone(&of_thread.running);
        let thread = threads::start(name, move || work(&mut of_thread))?;
        Ok(Worker {
            requests: Some(requests),
            running,
            thread: Some(thread),
        })
    }

    pub fn ask(&self, request: R) {
        if let Some(requests) = &self.requests {
            // The channel is closed only after the thread has panicked, and the panic hook has
            // reported that.
            let _ = requests.send(request);
        }
    }

    /// Another end for requests. The thread lives until that is dropped too.
    pub fn sender(&self) -> Option<Sender<R>> {
        self.requests.clone()
    }
}

impl<R> Worker<R> {
    /// Ends the work in progress that has a control.
    pub fn stop(&self) {
        let control = lock(&self.running).control.upgrade();
        control.iter().for_each(|control| control.end());
    }
}

impl<R> Drop for Worker<R> {
    fn drop(&mut self) {
        lock(&self.running).is_closing = true;
        self.stop();
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<R> Requests<R> {
    pub fn new(receiver: Receiver<R>, replaces: fn(&R, &R) -> bool) -> Self {
        Requests {
            receiver,
            waiting: VecDeque::new(),
            replaces,
            running: Arc::default(),
        }
    }

    /// The next request, the one that has waited longest first. `None` once the worker is dropped
    /// and all requests are answered.
    pub fn wait(&mut self) -> Option<R> {
        if self.waiting.is_empty() {
            let request = self.receiver.recv().ok()?;
            self.waiting.push_back(request);
        }
        self.receive();
        self.waiting.pop_front()
    }

    /// Answers each request with an event, until the worker is dropped or the screen has closed.
    pub fn answer(
        &mut self,
        events: &Sender<Event>,
        mut answer: impl FnMut(R, &mut Self) -> Option<Event>,
    ) {
        while let Some(request) = self.wait() {
            if answer(request, self).is_some_and(|event| events.send(event).is_err()) {
                return;
            }
        }
    }

    /// Puts the request back that was returned last.
    pub fn put_back(&mut self, request: R) {
        self.waiting.push_front(request);
    }

    /// [`Requests::wait`] for at most this long.
    pub fn wait_within(&mut self, patience: Duration) -> Result<R, RecvTimeoutError> {
        let request = self.waiting.pop_front();
        request.map_or_else(|| self.receiver.recv_timeout(patience), Ok)
    }

    /// Whether a request waits that replaces this one, or the worker was dropped.
    pub fn is_replaced(&mut self, request: &R) -> bool {
        let is_closed = self.receive();
        is_closed
            || self
                .waiting
                .iter()
                .any(|later| (self.replaces)(request, later))
    }

    /// Takes in all requests. Returns whether the worker was dropped.
    fn receive(&mut self) -> bool {
        loop {
            match self.receiver.try_recv() {
                Ok(request) => {
                    self.waiting
                        .retain(|known| !(self.replaces)(known, &request));
                    self.waiting.push_back(request);
                }
                Err(why) => return why == TryRecvError::Disconnected,
            }
        }
    }

    /// The control of work that begins now: [`Worker::stop`] and the worker's end end it.
    pub fn control(&self) -> io::Result<Arc<Control>> {
        let control = Arc::new(Control::new()?);
        let mut running = lock(&self.running);
        if running.is_closing {
            control.end();
        }
        running.control = Arc::downgrade(&control);
        Ok(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{repository_worker, view_loader};
    use lab_run::RunId;
    use lab_run::experiment::ExperimentKey;
    use lab_tui::diff::ContextLines;
    use lab_tui::request::{RepositoryRequest, ViewRequest};
    use std::time::Instant;

    fn answered<R>(replaces: fn(&R, &R) -> bool, asked: Vec<R>) -> Vec<R> {
        let (send, receiver) = mpsc::channel();
        for request in asked {
            send.send(request).expect("the receiver is here");
        }
        drop(send);
        let mut requests = Requests::new(receiver, replaces);
        std::iter::from_fn(|| requests.wait()).collect()
    }

    #[test]
    fn of_several_waiting_looks_only_the_last_is_answered() {
        let asked = vec![
            RepositoryRequest::Look,
            RepositoryRequest::Log(RunId(1)),
            RepositoryRequest::Look,
            RepositoryRequest::Look,
            RepositoryRequest::Undoable,
        ];
        assert_eq!(
            answered(repository_worker::replaces, asked),
            [
                RepositoryRequest::Log(RunId(1)),
                RepositoryRequest::Look,
                RepositoryRequest::Undoable
            ]
        );
    }

    #[test]
    fn only_the_latest_view_request_of_a_kind_is_answered() {
        let details = |commit: &str| {
            let key = ExperimentKey {
                commit: commit.to_owned(),
                run: None,
                decided: None,
            };
            ViewRequest::Details(key, ContextLines::Near)
        };
        let asked = ["a", "b", "c"].map(details).to_vec();
        assert_eq!(answered(view_loader::replaces, asked), [details("c")]);
    }

    #[test]
    fn the_end_of_a_worker_ends_its_work_and_answers_what_waits() {
        let (tell, told) = mpsc::channel();
        let worker = Worker::start(
            "test",
            |_: &u8, _| false,
            move |requests| {
                while let Some(request) = requests.wait() {
                    let control = requests.control().expect("a pipe");
                    let began = Instant::now();
                    let _ = tell.send((request, false));
                    while !control.is_ended() && began.elapsed() < Duration::from_secs(20) {
                        std::thread::yield_now();
                    }
                    let _ = tell.send((request, control.is_ended()));
                }
            },
        )
        .expect("a thread");
        worker.ask(1);
        worker.ask(2);
        assert_eq!(told.recv(), Ok((1, false)));
        worker.stop();
        assert_eq!(told.recv(), Ok((1, true)));
        drop(worker);
        assert_eq!(told.iter().last(), Some((2, true)));
    }
}
