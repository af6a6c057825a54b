//! What the problem for a kernel is: names, dimensions, tensors with their shapes, scalars, the
//! launch statement.

use super::body::Body;
use super::host::{bare, number};
use super::interval::{self, Interval};
use super::kernel::{Kernel, Kind};
use super::launch;
use super::order::{self, Step};
pub use super::parts::{Dim, Scalar, Tensor, Value};
use super::roles::{Role, role, tensors, uses_of};
use super::shapes::{near, shape, trial, with_number};
use super::statement::{Named, Shared, Statement};
use super::torch;
use super::unit::{Unit, with_word};
use super::uses::{Access, Use};
use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet};

/// The problem for a kernel.
#[derive(Clone, Default)]
pub struct Plan {
    pub tensors: Vec<Tensor>,
    pub scalars: Vec<Scalar>,
    pub dims: Vec<Dim>,
    pub launch: Statement,
    /// The launch is not that of the host code.
    pub is_launch_guessed: bool,
    /// Dimensions that are the distance of two rows, each with the number of columns.
    strides: Vec<(String, String)>,
}

impl Plan {
    /// `names` are those of the kernels before it in a list, `shared` what other launches of the
    /// list say.
    pub fn of(unit: &Unit, kernel: &Kernel, names: &mut Names, shared: &Shared) -> Plan {
        let mut plan = Plan::default();
        plan.name_numbers(unit, kernel, names);
        plan.read_launch(unit, kernel, names, shared);
        let known = plan.known(unit, kernel);
        let sizes = plan
            .published(kernel)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let constant = |name: &str| unit.constant(name);
        let width = |base: &str| kernel.element(unit, base).map(|element| element.width);
        let mut body = Body::new(&kernel.body, known, sizes, &constant, &width);
        let found = uses_of(unit, kernel, &body);
        let steps = order::steps(unit, kernel, &mut body, &found);
        plan.add_tensors(kernel, &body, &found, &steps, names);
        plan.demote_numbers(kernel, &body);
        if plan.is_launch_guessed {
            plan.guess_launch(kernel, &body);
        }
        plan
    }

    /// Names dimensions and scalars.
    fn name_numbers(&mut self, unit: &Unit, kernel: &Kernel, names: &mut Names) {
        let given = |number: usize| {
            let host = kernel.host.as_ref()?;
            super::host::number(unit, &bare(host.launch.arguments.get(number)?))
        };
        for (number, argument) in kernel.arguments.iter().enumerate() {
            let name = &argument.parameter.name;
            match argument.kind {
                Kind::Whole(_) => self.dims.push(Dim {
                    number: Some(number),
                    name: names.of(&kernel.identity(number), name, false),
                    fixed: given(number).filter(|value| is_fixed(kernel, *value)),
                    is_threads: false,
                }),
                Kind::Scalar(kind) => self.scalars.push(Scalar {
                    number,
                    name: names.of(&kernel.identity(number), name, false),
                    kind,
                    value: match argument.first.clone() {
                        Some((name, value)) => Value::Enumerator(name, value),
                        None => Value::Guess,
                    },
                }),
                Kind::Tensor(_) => {}
            }
        }
    }

    fn read_launch(&mut self, unit: &Unit, kernel: &Kernel, names: &mut Names, shared: &Shared) {
        let named: Vec<Named> = (0..kernel.arguments.len())
            .map(|number| Named {
                name: kernel.arguments[number].parameter.name.clone(),
                dim: self.dim(number).map(|dim| dim.name.clone()),
            })
            .collect();
        let host = kernel.host.as_ref();
        let known: Vec<(String, i128)> = kernel
            .template
            .iter()
            .filter_map(|argument| Some((argument.name.clone(), number(unit, &argument.text)?)))
            .collect();
        let read = host.and_then(|host| launch::statement(unit, host, &named, &known, shared));
        self.is_launch_guessed = read.is_none();
        self.launch = read.unwrap_or_else(|| Statement {
            found: host.map(launch::origin),
            ..Statement::default()
        });
        let bound = |text: &String| kernel.with_arguments(text);
        self.launch.grid = self.launch.grid.iter().map(bound).collect();
        self.launch.block = self.launch.block.iter().map(bound).collect();
        self.launch.shared = self.launch.shared.as_ref().map(bound);
        for name in [self.launch.dims.clone(), self.launch.shared_names.clone()].concat() {
            let free = names.of(&name, shared.numbers.get(&name).unwrap_or(&name), false);
            let renamed = |text: &String| with_word(text, &name, &format!("dims.{free}"));
            self.launch.grid = self.launch.grid.iter().map(renamed).collect();
            self.launch.block = self.launch.block.iter().map(renamed).collect();
            self.launch.shared = self.launch.shared.as_ref().map(renamed);
            if !self.dims.iter().any(|dim| dim.name == free) {
                self.dims.push(Dim::of_launch(free));
            }
        }
        if self.dims.is_empty() {
            self.dims.push(Dim::of_launch(names.free("n", false)));
        }
        for dim in &mut self.dims {
            let threads = format!("dims.{}", dim.name);
            dim.is_threads = self.launch.block.contains(&threads);
        }
    }

    /// Whether a tensor, a scalar or a dimension has this name.
    pub fn has_name(&self, name: &str) -> bool {
        let tensors = self.tensors.iter().map(|tensor| &tensor.name);
        let scalars = self.scalars.iter().map(|scalar| &scalar.name);
        let dims = self.dims.iter().map(|dim| &dim.name);
        tensors
            .chain(scalars)
            .chain(dims)
            .any(|known| known == name)
    }

    /// The dimension of a parameter.
    pub fn dim(&self, number: usize) -> Option<&Dim> {
        self.dims.iter().find(|dim| dim.number == Some(number))
    }

    /// The published names of the dimensions, with their trial values.
    pub fn published(&self, kernel: &Kernel) -> Vec<(String, i128)> {
        let each = self.dims.iter().enumerate().map(|(at, dim)| {
            let number = dim
                .number
                .map(|number| kernel.arguments[number].origin.word());
            (number.unwrap_or_else(|| dim.name.clone()), trial(at))
        });
        each.collect()
    }

    /// What is known of names in the body: dimensions, the template's arguments, `threadIdx.x` and
    /// its like.
    fn known(&self, unit: &Unit, kernel: &Kernel) -> BTreeMap<String, Interval> {
        let mut known: BTreeMap<String, Interval> = BTreeMap::new();
        for (name, value) in self.published(kernel) {
            known.insert(name, Interval::exactly(value));
        }
        for argument in &kernel.template {
            if let Some(value) = number(unit, &argument.text) {
                known.insert(argument.name.clone(), Interval::exactly(value));
            }
        }
        // A launch that is guessed says nothing of an index.
        let axes: &[&str] = if self.is_launch_guessed {
            &[]
        } else {
            &["x", "y", "z"]
        };
        for (at, axis) in axes.iter().enumerate() {
            let extent = |texts: &[String]| match texts.get(at) {
                Some(text) => self.evaluate(unit, text),
                None => Some(1),
            };
            if let Some(threads) = extent(&self.launch.block) {
                known.insert(format!("threadIdx.{axis}"), Interval::below(threads));
                known.insert(format!("blockDim.{axis}"), Interval::exactly(threads));
            }
            if let Some(blocks) = extent(&self.launch.grid) {
                known.insert(format!("blockIdx.{axis}"), Interval::below(blocks));
                known.insert(format!("gridDim.{axis}"), Interval::exactly(blocks));
            }
        }
        known
    }

    /// The value of an expression of the launch statement with the trial values.
    fn evaluate(&self, unit: &Unit, text: &str) -> Option<i128> {
        interval::constant(text, &|name: &str| {
            let dim = name.strip_prefix("dims.");
            let dim = dim.and_then(|name| self.dims.iter().position(|dim| dim.name == name));
            let guess = || {
                let mut guesses = self.launch.guesses.iter();
                guesses
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| *value)
            };
            dim.map(trial)
                .or_else(guess)
                .or_else(|| unit.constant(name))
        })
    }

    fn add_tensors(
        &mut self,
        kernel: &Kernel,
        body: &Body,
        found: &[Use],
        steps: &[Step],
        names: &mut Names,
    ) {
        let all: Vec<(String, i128)> = self
            .dims
            .iter()
            .enumerate()
            .map(|(at, dim)| (dim.name.clone(), trial(at)))
            .collect();
        let roles = roles(kernel, body, found);
        for ((at, (number, element)), role) in tensors(kernel).enumerate().zip(roles) {
            let of = found.iter().filter(|of| of.tensor == at);
            let reaches: Vec<Option<i128>> = of.clone().map(|of| of.reach).collect();
            let moves = of.clone().any(|of| of.access == Access::Move);
            let is_open = of.clone().any(|of| of.is_open);
            let is_passed = of.clone().any(|of| of.access == Access::Passed);
            let reach = reaches.iter().flatten().max().filter(|_| !moves);
            let steps = steps.iter().filter(|step| found[step.at].tensor == at);
            let dims = order::outermost_first(&all, steps.clone());
            let rows = reach.and_then(|reach| order::rows(*reach, &dims, steps));
            let rows = rows.filter(|rows| self.is_only_stride(&rows.stride));
            if let Some(rows) = &rows {
                self.strides
                    .push((rows.stride.clone(), rows.columns.clone()));
            }
            let known = rows.map(|rows| rows.shape);
            let known = known.or_else(|| reach.and_then(|reach| shape(*reach, &dims)));
            let with_number = reach.and_then(|reach| with_number(*reach, &dims));
            let near = || reach.and_then(|reach| near(*reach, &dims));
            let published = &kernel.arguments[number].parameter;
            // In a list another kernel may write what this one reads.
            let is_lower = role != Role::In || kernel.is_in_list;
            self.tensors.push(Tensor {
                number,
                name: names.of(&kernel.identity(number), &published.name, is_lower),
                is_const: published.is_const,
                is_between: false,
                element: element.clone(),
                role,
                is_guess: known.is_none() || is_open || reaches.contains(&None),
                is_role_guess: is_passed && !published.is_const,
                shape: known
                    .or(with_number)
                    .or_else(near)
                    .unwrap_or_else(|| self.fallback(&dims)),
            });
        }
        self.use_convention(kernel);
        self.use_sizes(kernel);
    }

    /// Whether a dimension is a parameter of the kernel that the launch does not need.
    fn is_only_stride(&self, name: &str) -> bool {
        let mut dims = self.dims.iter().filter(|dim| dim.name == name);
        let number = dims.next().and_then(|dim| dim.number);
        number.is_some_and(|number| !self.launch.used.contains(&number))
    }

    /// Tensors of PyTorch have the shape that the host code asks for or makes, where the indices
    /// leave it open, or only its order.
    fn use_sizes(&mut self, kernel: &Kernel) {
        let Some(host) = &kernel.host else { return };
        let dims = &self.dims;
        let dim = |number: usize| {
            let found = dims.iter().find(|dim| dim.number == Some(number));
            found.map(|dim| dim.name.clone())
        };
        let sorted = |shape: &[String]| {
            let mut shape = shape.to_vec();
            shape.sort();
            shape
        };
        for tensor in &mut self.tensors {
            if let Some(shape) = torch::shape(host, tensor.number, &dim)
                && (tensor.is_guess || sorted(&shape) == sorted(&tensor.shape))
            {
                tensor.shape = shape;
            }
        }
    }

    /// Matrices A, B and C with the extents M, N and K have the shapes that everybody gives them.
    fn use_convention(&mut self, kernel: &Kernel) {
        let published = |number: usize| kernel.arguments[number].parameter.name.to_lowercase();
        let of_dim = |wanted: &str| {
            let mut dims = self.dims.iter();
            let found = dims.find(|dim| dim.number.is_some_and(|n| published(n) == wanted));
            found.map(|dim| dim.name.clone())
        };
        let (Some(m), Some(n), Some(k)) = (of_dim("m"), of_dim("n"), of_dim("k")) else {
            return;
        };
        for tensor in self.tensors.iter_mut().filter(|tensor| tensor.is_guess) {
            let shape = match published(tensor.number).as_str() {
                "a" => [&m, &k],
                "b" => [&k, &n],
                "c" | "d" => [&m, &n],
                _ => continue,
            };
            tensor.shape = shape.map(String::clone).to_vec();
        }
    }

    /// Makes scalars of whole numbers that nothing is as long as.
    fn demote_numbers(&mut self, kernel: &Kernel, body: &Body) {
        let named: BTreeSet<&str> = self
            .tensors
            .iter()
            .flat_map(|tensor| &tensor.shape)
            .flat_map(|extent| extent.split([' ', '*']))
            .collect();
        let is_bound = |name: &str| {
            let code = body.code;
            (body.range.0..body.range.1)
                .any(|at| code.word(at) == name && matches!(code.at(at - 1), "<" | "=" | ">" | "*"))
        };
        let used = &self.launch.used;
        let (dims, others): (Vec<Dim>, Vec<Dim>) = self.dims.drain(..).partition(|dim| {
            let is_stride = self.strides.iter().any(|(name, _)| *name == dim.name);
            dim.number.is_none_or(|number| {
                if is_stride && !named.contains(dim.name.as_str()) {
                    return false;
                }
                let published = kernel.arguments[number].origin.word();
                named.contains(dim.name.as_str()) || used.contains(&number) || is_bound(&published)
            })
        });
        let is_empty = dims.is_empty();
        self.dims = dims;
        for dim in others {
            if is_empty && self.dims.is_empty() {
                self.dims.push(dim);
                continue;
            }
            let Some(number) = dim.number else { continue };
            if let Kind::Whole(kind) = kernel.arguments[number].kind {
                let name = dim.name;
                let columns = self.strides.iter().find(|(stride, _)| *stride == name);
                self.scalars.push(Scalar {
                    number,
                    kind,
                    value: columns.map_or(Value::Guess, |(_, of)| Value::Stride(of.clone())),
                    name,
                });
            }
        }
        self.scalars.sort_by_key(|scalar| scalar.number);
    }
}

/// The roles of the tensors. Where no kernel code writes one, the last that may be written is the
/// output.
fn roles(kernel: &Kernel, body: &Body, found: &[Use]) -> Vec<Role> {
    let mut roles: Vec<Role> = tensors(kernel)
        .enumerate()
        .map(
            |(at, (number, _))| match kernel.arguments[number].parameter.is_const {
                true => Role::In,
                false => role(body, found.iter().filter(|of| of.tensor == at)),
            },
        )
        .collect();
    if roles.iter().all(|role| *role == Role::In) {
        let free = tensors(kernel).map(|(number, _)| !kernel.arguments[number].parameter.is_const);
        let last = free.collect::<Vec<bool>>().iter().rposition(|free| *free);
        if let Some(role) = last
            .or(roles.len().checked_sub(1))
            .and_then(|at| roles.get_mut(at))
        {
            *role = Role::Out;
        }
    }
    roles
}

/// Whether the number that a launch gives is one that the kernel's template needs, and not only a
/// size that its program happens to have.
fn is_fixed(kernel: &Kernel, value: i128) -> bool {
    !kernel.template.is_empty() && (1..=8192).contains(&value)
}
