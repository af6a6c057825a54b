//! What a launch and a shape are where neither the host code nor an index says it.

use super::body::Body;
use super::kernel::Kernel;
use super::plan::Plan;
use lab_source::cpp::words;

impl Plan {
    /// A launch for the dimensions that bound what the kernel makes of its block's index.
    pub fn guess_launch(&mut self, kernel: &Kernel, body: &Body) {
        let names: Vec<&str> = self.dims.iter().map(|dim| dim.name.as_str()).collect();
        let published = self.published(kernel).into_iter().map(|(name, _)| name);
        let bounds = ["x", "y"].map(|axis| {
            let bounds = body.bounds_of("blockIdx", axis);
            let at = published
                .clone()
                .position(|name| bounds.contains(&name.as_str()))?;
            names.get(at).copied()
        });
        let counts = |of: &str| {
            let code = body.code;
            (0..code.tokens.len()).any(|at| code.word(at) == of && code.at(at + 2) == "y")
        };
        let directions = (counts("blockIdx"), counts("threadIdx"));
        let guessed = statement(&names, bounds, directions);
        (self.launch.grid, self.launch.block) = guessed;
    }

    /// The shape of a tensor of which nothing is known: all dimensions, or of many the few that the
    /// launch names first.
    pub fn fallback(&self, dims: &[(String, i128)]) -> Vec<String> {
        const MOST: usize = 3;
        let mut names: Vec<String> = dims.iter().map(|(name, _)| name.clone()).collect();
        if names.len() > MOST {
            let extents = self.launch.grid.iter().chain(&self.launch.block);
            let launched: Vec<&str> = extents.flat_map(|extent| words(extent)).collect();
            names.sort_by_key(|name| !launched.contains(&name.as_str()));
            names.truncate(MOST);
        }
        names
    }
}

/// The grid and the block where the host code has no launch that can be read: a thread for each cell
/// along the first dimension, or along those that bound the indices in `x` and `y`. `directions` says
/// whether the kernel counts its blocks in two, and its threads.
fn statement(
    dims: &[&str],
    [x, y]: [Option<&str>; 2],
    directions: (bool, bool),
) -> (Vec<String>, Vec<String>) {
    let over = |dim: &str, threads: usize| match threads {
        1 => format!("dims.{dim}"),
        _ => format!("(dims.{dim} + {}) / {threads}", threads - 1),
    };
    let (first, last) = (dims.first().copied(), dims.last().copied());
    let (wide, tall) = if directions.1 { (16, 16) } else { (256, 1) };
    let block = |threads: &[usize]| threads.iter().map(ToString::to_string).collect();
    match (first, last) {
        (Some(first), Some(last)) if directions.0 && dims.len() > 1 => (
            vec![
                over(x.unwrap_or(last), wide),
                over(y.unwrap_or(first), tall),
            ],
            block(if tall > 1 { &[16, 16] } else { &[256] }),
        ),
        (Some(first), _) => (vec![over(x.unwrap_or(first), 256)], block(&[256])),
        _ => (vec!["1".to_owned()], block(&[256])),
    }
}
