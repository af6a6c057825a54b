//! When a tensor problem takes its sealed inputs out of the stock, and when it makes some for the
//! stock.

use super::Problem;
use super::drawing::Drawing;
use super::file::{self, KeepCheck};
use super::reference::ReferenceKernel;
use super::reference_source;
use super::sealed_stock::{self, MOST_OF_A_SET, SealedStock, in_order, put};
use super::spec::ProblemSpec;
use crate::outcome::{OrLab, Result};
use crate::problem::api::{ProblemContext, StockUse};
use itertools::Itertools as _;
use lab_protocol::{Language, When};
use lab_system::random;
use std::io;
use std::rc::Rc;

const TOO_LARGE: &str = "no sealed inputs are kept in stock: what the reference says of them takes too much space, so a keep makes them itself";

/// Says why something could not be put into the stock.
fn not_put(cx: &mut ProblemContext, put: io::Result<()>) -> Result {
    let Err(error) = put else {
        return Ok(());
    };
    let why = format!("no sealed inputs could be put into the stock: {error}");
    Ok(cx.out.text(&why)?)
}

impl Problem {
    /// Takes the inputs of this check out of the stock, so that no reference is needed. Returns
    /// false if there are none.
    pub fn take_from_stock(&mut self, cx: &mut ProblemContext) -> Result<bool> {
        let is_stocked = self.stock_use == Some(StockUse::Takes) && self.sealed_seed.is_none();
        if !is_stocked || cx.seed_is_fixed {
            return Ok(false);
        }
        let Some(stock) = self.stock(cx)? else {
            return Ok(false);
        };
        let (device, memory) = (cx.device, cx.memory);
        let taken = stock.take(|seed, content| {
            let spec = self.spec_of_keep(seed).ok()?;
            let chosen = spec.cases_of(self.when, device);
            let ahead = sealed_stock::read(
                &chosen,
                Drawing {
                    device,
                    seed,
                    memory,
                },
                content,
            )?;
            Some((seed, spec, chosen, ahead))
        });
        if let Err(error) = &taken {
            cx.out.text(&format!(
                "no sealed inputs could be taken out of the stock: {error}"
            ))?;
        }
        let Ok(Some((seed, spec, chosen, ahead))) = taken else {
            return Ok(false);
        };
        (self.spec, self.chosen, self.ahead) = (spec, chosen, ahead);
        self.sealed_seed = Some(seed);
        cx.out.line("seed", seed)?;
        Ok(true)
    }

    /// Draws sets with a secret seed for the next keep, and has the reference say what is expected
    /// of them, if the stock has none, as long as `is_idle` returns true.
    pub fn fill_stock(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result {
        if !self.launches_for_stock() || !is_idle() {
            return Ok(());
        }
        self.timed_when = self.when;
        let stock = self.stock(cx)?;
        let Some(stock) = stock.filter(|stock| !stock.is_filled()) else {
            return Ok(());
        };
        let (device, memory) = (cx.device, cx.memory);
        // A launch of the reference may take seconds, and a save ends this after each.
        let begun = stock.go_on();
        let mut begun = begun.unwrap_or_else(|| stock.begin(random::number()));
        let seed = begun.seed;
        let cases = self.spec_of_keep(seed)?.cases_of(When::Keep, device);
        let left = in_order(&cases).skip(begun.parts).collect_vec();
        for (case, part) in left {
            if !is_idle() {
                return not_put(cx, stock.put_by(begun));
            }
            if begun.bytes.len() > MOST_OF_A_SET {
                return Ok(cx.out.text(TOO_LARGE)?);
            }
            let drawing = Drawing {
                device,
                seed,
                memory,
            };
            let drawn = drawing.draw(&case, part, &mut self.reference)?;
            put(&mut begun.bytes, &drawn)?;
            begun.parts += 1;
        }
        let stored = stock.store(begun.bytes);
        if let Ok(false) = stored {
            cx.out.text(TOO_LARGE)?;
        }
        not_put(cx, stored.map(drop))
    }

    /// The seed that the values of this run were drawn with.
    pub fn seed(&self, cx: &ProblemContext) -> u64 {
        self.sealed_seed.unwrap_or(cx.seed)
    }

    /// The stock for a keep, with a reference.cu. What a reference.py imports is not known, so it
    /// has none.
    fn stock(&self, cx: &mut ProblemContext) -> Result<Option<SealedStock>> {
        if reference_source::language(&self.folder) != Language::Cuda {
            return Ok(None);
        }
        let image = ReferenceKernel::image(&self.spec, &self.folder, cx)?;
        let image = std::fs::read(&image).or_lab(|| format!("cannot read {}", image.display()))?;
        Ok(Some(SealedStock::new(
            &self.spec,
            &self.text,
            &image,
            cx.device,
            self.timed_when,
            cx.cache_dir,
        )))
    }

    /// The problem with the shapes that this seed draws for a keep.
    pub(super) fn spec_of_keep(&self, seed: u64) -> Result<Rc<ProblemSpec>> {
        let check = KeepCheck {
            seed,
            timed: self.timed_when,
        };
        Ok(Rc::new(file::parse(&self.path(), &self.text, Some(check))?))
    }
}
