//! A sweep that goes on: points are built ahead by all cores, and judged by a lane for each device.

use crate::builders::{Building, Queue};
use crate::lane::Lane;
use crate::points::{Budget, Ended, Points, Shared, SweepEvent};
use crate::record::Sweep;
use crate::slurm::Cluster;
use crate::strategy::Strategy;
use anyhow::Result;
use lab_project::Project;
use lab_protocol::{Language, Target};
use lab_run::inputs::Inputs;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_source::tune::Space;
use lab_store::series::OpenFolder;
use lab_system::threads::{self, Beside, beside, cores};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// A sweep that goes on.
pub struct Session<'a> {
    pub(crate) project: &'a Project,
    /// How each lane judges: the devices differ. There is one at least.
    pub(crate) lanes: Vec<RunSpec>,
    /// Read once, so that all points are of the same source, whatever happens on disk meanwhile.
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) source: String,
    pub(crate) space: Space,
    pub(crate) open: OpenFolder,
    pub sweep: Sweep,
    pub(crate) strategy: Strategy,
    pub(crate) budget: Budget,
    /// See [`crate::SweepRequest`].
    pub(crate) builders: Option<usize>,
    /// Tasks of a cluster judge the points.
    pub(crate) cluster: Option<Cluster>,
}

impl Session<'_> {
    /// Measures points on this machine.
    pub(crate) fn run_here(
        &mut self,
        control: &Control,
        tell: &mut (dyn FnMut(SweepEvent) + Send),
    ) -> Result<Ended> {
        let (project, spec, inputs) = (self.project, self.lanes[0].clone(), self.inputs.clone());
        // For a GPU, a build has threads of its own.
        let is_cpu = spec.device.unwrap_or(project.config.device) == Target::Cpu;
        let usual = || cores().div_ceil(if is_cpu { 1 } else { 4 });
        let builders = match Language::of(&project.kernel) {
            Language::Cuda => self.builders.unwrap_or_else(usual),
            // It is compiled as it is launched.
            Language::Python => 0,
        };
        let of_builders = control.within()?;
        project.files().create_dir_all(&self.open.tree())?;
        let (orders, receiver) = channel();
        let building = Building {
            project,
            spec: &spec,
            inputs: &inputs,
            tree: self.open.tree(),
            control: &of_builders,
            orders: Mutex::new(receiver),
        };
        let (sender, done) = channel();
        let ended = std::thread::scope(|scope| {
            for number in 0..builders {
                let log = self.open.tree().join(format!("builder-{number}.log"));
                let log = self.open.create_log(&log)?;
                let (building, sender) = (&building, sender.clone());
                let started =
                    threads::start_in(scope, move || building.work(number, &log, &sender));
                if number == 0 {
                    started?;
                }
            }
            drop(sender);
            // Two for each builder, or as many as the lanes judge.
            let most = (2 * builders).max(self.lanes.len());
            let queue = Queue::new((builders > 0).then_some(orders), done, most);
            let ended = self.measure(queue, control, tell);
            of_builders.end();
            ended
        })?;
        self.open.remove_copies();
        Ok(ended)
    }

    /// Judges points in all lanes. The first lane that cannot go on ends the others after their
    /// points.
    fn measure(
        &mut self,
        queue: Queue,
        control: &Control,
        tell: &mut (dyn FnMut(SweepEvent) + Send),
    ) -> Result<Ended> {
        let is_ahead = self.builders != Some(0);
        let shared = Shared {
            project: self.project,
            inputs: &self.inputs,
            source: &self.source,
            space: &self.space,
            start: &self.sweep.start,
            open: &self.open,
            points: Mutex::new(Points::new(
                &self.space,
                &self.sweep.start,
                &mut self.sweep.points,
                (self.strategy, self.budget),
                queue,
                tell,
            )),
        };
        let work = |number: usize| {
            let worked = Lane::new(&shared, number, &self.lanes[number], is_ahead)
                .and_then(|mut lane| lane.work(control));
            if !matches!(worked, Ok(Ended::Complete | Ended::BudgetSpent)) {
                shared.points().stop();
            }
            worked
        };
        let ended: Vec<Result<Ended>> = std::thread::scope(|scope| {
            let work = &work;
            let others = (1..self.lanes.len()).map(|number| beside(scope, move || work(number)));
            let others: Vec<_> = others.collect();
            let first = work(0);
            let others = others.into_iter().map(Beside::join);
            std::iter::once(first).chain(others).collect()
        });
        let ended: Vec<Ended> = ended.into_iter().collect::<Result<_>>()?;
        // The worst reason counts: a lane without further points may end before another fails.
        Ok(ended.into_iter().max().unwrap_or(Ended::Complete))
    }

    /// How many points there are to be at the end, as far as the budget says.
    pub fn wanted(&self) -> usize {
        let all = self.sweep.start.points;
        match self.budget {
            Budget::Points(most) => all.min(most.max(self.sweep.points.len())),
            Budget::All | Budget::Time(_) => all,
        }
    }
}
