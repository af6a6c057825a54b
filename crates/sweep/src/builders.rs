//! Processes that build points ahead, each on its own thread, while another point is measured.

use lab_project::Project;
use lab_run::inputs::Inputs;
use lab_runner::builder::{Ahead, Builder};
use lab_runner::follow::Follow;
use lab_runner::job::Job;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_system::threads::lock;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender};

/// A point to build.
pub struct Order {
    /// Counts the orders from 0.
    number: usize,
    pub point: usize,
    pub kernel: Vec<u8>,
}

/// A point that a builder is done with.
pub struct Done {
    pub order: Order,
    pub ahead: Ahead,
}

/// What every builder needs.
pub struct Building<'a> {
    pub project: &'a Project,
    pub spec: &'a RunSpec,
    pub inputs: &'a Inputs,
    /// The folder for the copies of the files; each builder has one inside.
    pub tree: PathBuf,
    /// Ends all builders.
    pub control: &'a Control,
    pub orders: Mutex<Receiver<Order>>,
}

impl<'a> Building<'a> {
    /// Builds points until there are no more orders. `log` is for what the compiler prints.
    pub fn work(&self, number: usize, log: &File, done: &Sender<Done>) {
        let tree = self.tree.join(format!("builder-{number}"));
        let mut builder = None;
        while let Some(order) = self.next() {
            let ahead = self.build(&mut builder, &tree, log, &order);
            let ahead = ahead.unwrap_or(Ahead::Unknown);
            if matches!(ahead, Ahead::Unknown) {
                builder = None;
            }
            if done.send(Done { order, ahead }).is_err() {
                return;
            }
        }
    }

    /// The next point, as soon as there is one; `None` once no more come.
    fn next(&self) -> Option<Order> {
        lock(&self.orders).recv().ok()
    }

    fn build(
        &self,
        builder: &mut Option<Builder<'a>>,
        tree: &std::path::Path,
        log: &File,
        order: &Order,
    ) -> io::Result<Ahead> {
        if self.control.is_ended() {
            return Ok(Ahead::Unknown);
        }
        let mut follow: Follow = Job::follow(self.project, log.try_clone()?);
        let running = match builder {
            Some(running) => running,
            None => builder.insert(Builder::start(self.project, self.spec, self.inputs, tree)?),
        };
        running.build(&order.kernel, &mut follow, self.control)
    }
}

/// The points that are chosen and not recorded yet.
pub struct Queue {
    /// To the builders; `None` if nothing is built ahead.
    orders: Option<Sender<Order>>,
    done: Receiver<Done>,
    /// What the builders are done with, by the number of its order.
    waiting: BTreeMap<usize, Done>,
    /// Orders so far, and how many of them were taken out again.
    pushed: usize,
    popped: usize,
    most: usize,
}

impl Queue {
    /// A queue with room for so many points.
    pub fn new(orders: Option<Sender<Order>>, done: Receiver<Done>, most: usize) -> Queue {
        Queue {
            orders,
            done,
            waiting: BTreeMap::new(),
            pushed: 0,
            popped: 0,
            most,
        }
    }

    /// How many points are in it.
    pub fn open(&self) -> usize {
        self.pushed - self.popped
    }

    pub fn has_room(&self) -> bool {
        self.open() < self.most
    }

    pub fn push(&mut self, point: usize, kernel: Vec<u8>) {
        let number = self.pushed;
        let order = Order {
            number,
            point,
            kernel,
        };
        self.pushed += 1;
        match &self.orders {
            // The builders listen as long as this exists.
            Some(orders) if number > 0 => {
                let _ = orders.send(order);
            }
            // The first one is judged at once, and its judge builds it: builders take seconds to
            // start, and the others are compared with it.
            _ => {
                let ahead = Ahead::Unknown;
                self.waiting.insert(number, Done { order, ahead });
            }
        }
    }

    /// Takes out the point of the oldest order that is built, and waits for one. `None` if no builder
    /// is left.
    pub fn pop(&mut self) -> Option<Done> {
        loop {
            while let Ok(done) = self.done.try_recv() {
                self.waiting.insert(done.order.number, done);
            }
            if let Some(oldest) = self.waiting.first_entry() {
                self.popped += 1;
                return Some(oldest.remove());
            }
            let done = self.done.recv().ok()?;
            self.waiting.insert(done.order.number, done);
        }
    }
}
