//! The coloured steps on the processor, all its threads.

use super::colour::{Classes, colours};
use super::level::Level;
use super::moving::Moving;
use super::refining::Refining;
use super::rule::Rule;
use super::schedule::{Device, Steps};
use super::sums::Tables;
use crate::Result;

/// The processor as a device: the twin that cards must equal.
pub(super) struct Processor {
    tables: Tables,
}

impl Processor {
    pub(super) fn new() -> Self {
        Self { tables: Tables::new() }
    }
}

impl Device for Processor {
    type Held<'a> = Held<'a>;

    fn hold<'a>(&'a self, level: &'a Level<'a>, rule: Rule, salt: u32) -> Result<Held<'a>> {
        let classes = Classes::of(&colours(level, salt));
        Ok(Held { level, rule, salt, classes, tables: &self.tables, stage: Stage::None, n_moved: 0 })
    }
}

/// A level with its colours and what is being done on it.
pub(super) struct Held<'a> {
    level: &'a Level<'a>,
    rule: Rule,
    salt: u32,
    classes: Classes,
    tables: &'a Tables,
    stage: Stage<'a>,
    n_moved: usize,
}

enum Stage<'a> {
    None,
    Moving(Moving<'a>),
    Refining(Refining<'a>),
}

impl Steps for Held<'_> {
    fn n_classes(&self) -> usize {
        self.classes.n()
    }

    fn start_moving(&mut self, labels: &[u32]) -> Result<()> {
        self.stage = Stage::Moving(Moving::new(self.level, self.rule, self.salt, self.tables, labels));
        Ok(())
    }

    fn move_class(&mut self, class: usize) -> Result<()> {
        if let Stage::Moving(moving) = &self.stage {
            self.n_moved += moving.class(self.classes.nodes(class));
        }
        Ok(())
    }

    fn n_moved(&mut self) -> Result<usize> {
        Ok(std::mem::take(&mut self.n_moved))
    }

    fn labels(&mut self) -> Result<Vec<u32>> {
        match std::mem::replace(&mut self.stage, Stage::None) {
            Stage::Moving(moving) => Ok(moving.into_labels()),
            _ => Ok(Vec::new()),
        }
    }

    fn start_refining(&mut self, labels: &[u32]) -> Result<()> {
        self.stage = Stage::Refining(Refining::new(self.level, self.rule, self.salt, self.tables, labels.to_vec()));
        Ok(())
    }

    fn refine_class(&mut self, class: usize) -> Result<()> {
        if let Stage::Refining(refining) = &self.stage {
            refining.class(self.classes.nodes(class));
        }
        Ok(())
    }

    fn parts(&mut self) -> Result<Vec<u32>> {
        match std::mem::replace(&mut self.stage, Stage::None) {
            Stage::Refining(refining) => Ok(refining.into_parts()),
            _ => Ok(Vec::new()),
        }
    }
}
