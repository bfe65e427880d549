//! The coloured steps on a card: which kernels of `gpu/coloured.cu` run one after another, on what memory.
//!
//! Knows launches. How memory is taken and kernels are started is the business of a [`Card`].

use super::colour::{Classes, NONE, mix};
use super::level::{Level, Weights};
use super::moving::TRIALS;
use super::rule::Rule;
use super::schedule::{Device, Steps};
use crate::Result;

/// Nodes of more edges are hubs: their sums do not fit the shared memory of a warp.
const HUB_EDGES: usize = 256;
/// Blocks, and so tables in global memory, that hubs get at most.
const HUB_BLOCKS_MAX: usize = 32;
/// Threads of a block that takes four nodes, one a warp; of one that takes a node a thread, or one hub.
const WARPS: usize = 4;
const THREADS: usize = 256;
/// Slots of a table in shared memory and the bytes of one.
const SLOTS: usize = 512;
const SLOT_BYTES: usize = 12;
/// Shared words in which the warps of a block compare their best.
const BEST_BYTES: usize = 8 * 5 * THREADS / 32;

/// The kernels, named as in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Pick,
    Give,
    Lose,
    Keep,
    Masses,
    Choose,
    ChooseHubs,
    Hold,
    Move,
    Cut,
    ChoosePart,
    ChoosePartHubs,
    HoldPart,
    Join,
}

impl Kernel {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 14] = [
        Self::Pick,
        Self::Give,
        Self::Lose,
        Self::Keep,
        Self::Masses,
        Self::Choose,
        Self::ChooseHubs,
        Self::Hold,
        Self::Move,
        Self::Cut,
        Self::ChoosePart,
        Self::ChoosePartHubs,
        Self::HoldPart,
        Self::Join,
    ];

    /// The entry in the compiled source.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pick => "coloured_pick",
            Self::Give => "coloured_give",
            Self::Lose => "coloured_lose",
            Self::Keep => "coloured_keep",
            Self::Masses => "coloured_masses",
            Self::Choose => "coloured_choose",
            Self::ChooseHubs => "coloured_choose_hubs",
            Self::Hold => "coloured_hold",
            Self::Move => "coloured_move",
            Self::Cut => "coloured_cut",
            Self::ChoosePart => "coloured_choose_part",
            Self::ChoosePartHubs => "coloured_choose_part_hubs",
            Self::HoldPart => "coloured_hold_part",
            Self::Join => "coloured_join",
        }
    }
}

/// How many threads start: `n_blocks` (above 0) of `n_threads`, with `shared_bytes` of shared memory each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub n_blocks: usize,
    pub n_threads: usize,
    pub shared_bytes: usize,
}

/// The numbers of a launch; `ColouredShape` in the source, field for field.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Shape {
    pub pull: i64,
    pub push: i64,
    pub n: u32,
    pub first: u32,
    pub n_nodes: u32,
    pub salt: u32,
    pub wide: u32,
    pub slots: u32,
    pub trial: u32,
    pub last: u32,
}

/// A card that takes memory and starts kernels, each after the one before has ended.
pub(crate) trait Card {
    /// A piece of the card's memory.
    type Memory;
    /// A copy of these words; there may be none of them.
    fn words(&self, values: &[u32]) -> Result<Self::Memory>;
    /// A copy of these signed words.
    fn signed(&self, values: &[i32]) -> Result<Self::Memory>;
    /// A copy of these words; there may be none of them.of 64 bits.
    fn longs(&self, values: &[i64]) -> Result<Self::Memory>;
    /// `n_bytes` zeros.
    fn zeros(&self, n_bytes: usize) -> Result<Self::Memory>;
    /// The first `n` words of some memory, once all kernels have ended.
    fn read(&self, memory: &Self::Memory, n: usize) -> Result<Vec<u32>>;
    /// Starts a kernel on `memories` and then `shape`, its parameters in order.
    fn launch(&self, kernel: Kernel, grid: Grid, memories: &[&Self::Memory], shape: &Shape) -> Result<()>;
}

/// A card as a device for the schedule.
pub(crate) struct OnCard<C>(pub C);

impl<C: Card> Device for OnCard<C> {
    type Held<'a>
        = Held<'a, C>
    where
        C: 'a;

    fn hold<'a>(&'a self, level: &'a Level<'a>, rule: Rule, salt: u32) -> Result<Held<'a, C>> {
        let card = &self.0;
        let (weights, wide) = match &level.weights {
            Weights::Short(weights) => (card.signed(weights)?, 0),
            Weights::Long(weights) => (card.longs(weights)?, 1),
        };
        let n = level.n();
        let shape = Shape { pull: rule.pull, push: rule.push, n: n as u32, wide, ..Shape::default() };
        let (offsets, columns) = (card.words(&level.offsets)?, card.words(&level.columns)?);
        let classes = Classes::of(&colours(card, &offsets, &columns, shape, salt)?);
        let (order, hubs) = hubs_last(level, &classes);
        let degree_max = (0..n).map(|node| level.degree(node)).max().unwrap_or(0);
        let slots = if degree_max > HUB_EDGES { (2 * degree_max).next_power_of_two() } else { 0 };
        let hub_blocks = (0..classes.n()).map(|class| classes.nodes(class).len() - hubs[class]).max();
        let hub_blocks = hub_blocks.unwrap_or(0).clamp(1, HUB_BLOCKS_MAX);
        Ok(Held {
            card,
            level,
            shape: Shape { slots: slots as u32, ..shape },
            salt,
            tables: card.zeros((hub_blocks * slots * SLOT_BYTES).max(8))?,
            hub_blocks,
            hubs,
            order: card.words(&order)?,
            offsets,
            columns,
            weights,
            mass: card.longs(&level.mass)?,
            n_moved: card.zeros(4)?,
            n_moved_before: 0,
            stage: None,
            classes,
        })
    }
}

/// Rounds of colours until every node has kept one.
fn colours<C: Card>(card: &C, offsets: &C::Memory, columns: &C::Memory, shape: Shape, salt: u32) -> Result<Vec<u32>> {
    let n = shape.n as usize;
    if n == 0 {
        return Ok(Vec::new());
    }
    let (colours, open) = (card.words(&vec![NONE; n])?, card.words(&vec![1; n])?);
    let (picks, lost) = (card.zeros(4 * n)?, card.zeros(4 * n)?);
    let mut round = 0_u32;
    loop {
        let n_open = card.zeros(4)?;
        let of_round = Shape { salt: mix(salt.wrapping_add(round)), ..shape };
        card.launch(Kernel::Pick, warps(n, 0), &[offsets, columns, &colours, &open, &picks], &of_round)?;
        card.launch(Kernel::Give, threads(n), &[&open, &picks, &colours], &shape)?;
        let of_level = Shape { salt, ..shape };
        card.launch(Kernel::Lose, warps(n, 0), &[offsets, columns, &colours, &open, &lost], &of_level)?;
        card.launch(Kernel::Keep, threads(n), &[&lost, &colours, &open, &n_open], &shape)?;
        if card.read(&n_open, 1)?[0] == 0 {
            return card.read(&colours, n);
        }
        round = round.wrapping_add(1);
    }
}

/// The nodes by colour, those of a colour with hubs last; how many of each colour come before its hubs.
fn hubs_last(level: &Level<'_>, classes: &Classes) -> (Vec<u32>, Vec<usize>) {
    let mut order = Vec::with_capacity(level.n());
    let is_hub = |node: &&u32| level.degree(**node as usize) > HUB_EDGES;
    let mut hubs = Vec::with_capacity(classes.n());
    for class in 0..classes.n() {
        let nodes = classes.nodes(class);
        let before = order.len();
        order.extend(nodes.iter().filter(|node| !is_hub(node)));
        hubs.push(order.len() - before);
        order.extend(nodes.iter().filter(is_hub));
    }
    (order, hubs)
}

fn warps(n_nodes: usize, shared_bytes: usize) -> Grid {
    Grid { n_blocks: n_nodes.div_ceil(WARPS), n_threads: 32 * WARPS, shared_bytes }
}

fn threads(n_nodes: usize) -> Grid {
    Grid { n_blocks: n_nodes.div_ceil(THREADS), n_threads: THREADS, shared_bytes: 0 }
}

/// A level on a card.
pub(crate) struct Held<'a, C: Card> {
    card: &'a C,
    level: &'a Level<'a>,
    shape: Shape,
    salt: u32,
    classes: Classes,
    hubs: Vec<usize>,
    hub_blocks: usize,
    order: C::Memory,
    offsets: C::Memory,
    columns: C::Memory,
    weights: C::Memory,
    mass: C::Memory,
    tables: C::Memory,
    n_moved: C::Memory,
    n_moved_before: u32,
    stage: Option<Stage<C::Memory>>,
}

/// What moving or refining works with. While moving, `sums` are the masses of communities and `at` is nothing; while
/// refining, `sums` are the masses of whole communities, `parts` and what follows those of parts.
struct Stage<M> {
    labels: M,
    sums: M,
    joining: M,
    leaving: M,
    to: M,
    weight_to: M,
    holds: M,
    /// Moving: active nodes. Refining: nodes that are not alone.
    flags: M,
    /// Moving: the weight to the own community. Refining: the cut of each part.
    own: M,
    parts: M,
    part_mass: M,
}

impl<C: Card> Held<'_, C> {
    fn stage(&self, labels: &[u32], moving: bool) -> Result<Stage<C::Memory>> {
        let (card, n) = (self.card, labels.len());
        let halves = if moving { 2 } else { 0 };
        let stage = Stage {
            labels: card.words(labels)?,
            sums: card.zeros(8 * n)?,
            joining: card.zeros(16 * n)?,
            leaving: card.zeros(8 * halves * n)?,
            to: card.words(&vec![NONE; n])?,
            weight_to: card.zeros(8 * n)?,
            holds: card.zeros(4 * n)?,
            flags: if moving { card.words(&vec![1; n])? } else { card.zeros(4 * n)? },
            own: card.zeros(8 * n)?,
            parts: card.words(&(0..if moving { 0 } else { n as u32 }).collect::<Vec<_>>())?,
            part_mass: card.longs(if moving { &[] } else { &self.level.mass })?,
        };
        if n > 0 {
            card.launch(Kernel::Masses, threads(n), &[&stage.labels, &self.mass, &stage.sums], &self.shape)?;
            if !moving {
                let memories = [&self.offsets, &self.columns, &self.weights, &stage.labels, &stage.own];
                card.launch(Kernel::Cut, warps(n, 0), &memories, &self.shape)?;
            }
        }
        Ok(stage)
    }

    /// Starts the choice of a class: one launch for its nodes, one for its hubs.
    fn choose(&self, class: usize, kernels: [Kernel; 2], memories: &[&C::Memory]) -> Result<()> {
        let (first, n_nodes, hubs) = self.class(class);
        let few = n_nodes - hubs;
        if few > 0 {
            let shape = Shape { first: first as u32, n_nodes: few as u32, ..self.shape };
            self.card.launch(kernels[0], warps(few, WARPS * SLOTS * SLOT_BYTES), memories, &shape)?;
        }
        if hubs > 0 {
            let shape = Shape { first: (first + few) as u32, n_nodes: hubs as u32, ..self.shape };
            let grid = Grid { n_blocks: hubs.min(self.hub_blocks), n_threads: THREADS, shared_bytes: BEST_BYTES };
            let with_tables: Vec<&C::Memory> = memories.iter().copied().chain([&self.tables]).collect();
            self.card.launch(kernels[1], grid, &with_tables, &shape)?;
        }
        Ok(())
    }

    /// Where the nodes of a class start, how many they are and how many of them are hubs.
    fn class(&self, class: usize) -> (usize, usize, usize) {
        let n_nodes = self.classes.nodes(class).len();
        (self.classes.bounds[class] as usize, n_nodes, n_nodes - self.hubs[class])
    }

    fn trials(&self, class: usize) -> impl Iterator<Item = Shape> {
        let (first, n_nodes, _) = self.class(class);
        let (shape, salt) = (self.shape, self.salt);
        (0..TRIALS).map(move |trial| Shape {
            first: first as u32,
            n_nodes: n_nodes as u32,
            salt: mix(salt.wrapping_add(trial)),
            trial,
            last: u32::from(trial + 1 == TRIALS),
            ..shape
        })
    }
}

impl<C: Card> Steps for Held<'_, C> {
    fn n_classes(&self) -> usize {
        self.classes.n()
    }

    fn start_moving(&mut self, labels: &[u32]) -> Result<()> {
        self.stage = Some(self.stage(labels, true)?);
        Ok(())
    }

    fn move_class(&mut self, class: usize) -> Result<()> {
        let Some(s) = &self.stage else { return Ok(()) };
        let graph = [&self.offsets, &self.columns, &self.weights, &self.mass, &self.order];
        let chosen = [&s.labels, &s.sums, &s.joining, &s.leaving, &s.flags, &s.to, &s.own, &s.weight_to];
        self.choose(class, [Kernel::Choose, Kernel::ChooseHubs], &[&graph[..], &chosen[..]].concat())?;
        let n_nodes = self.class(class).1;
        for shape in self.trials(class) {
            let memories = [
                &self.mass,
                &self.order,
                &s.labels,
                &s.sums,
                &s.joining,
                &s.leaving,
                &s.to,
                &s.own,
                &s.weight_to,
                &s.holds,
            ];
            self.card.launch(Kernel::Hold, threads(n_nodes), &memories, &shape)?;
            let memories = [
                &self.offsets,
                &self.columns,
                &self.mass,
                &self.order,
                &s.holds,
                &s.labels,
                &s.sums,
                &s.joining,
                &s.leaving,
                &s.flags,
                &s.to,
                &self.n_moved,
            ];
            self.card.launch(Kernel::Move, warps(n_nodes, 0), &memories, &shape)?;
        }
        Ok(())
    }

    fn n_moved(&mut self) -> Result<usize> {
        let n_moved = self.card.read(&self.n_moved, 1)?[0];
        let before = std::mem::replace(&mut self.n_moved_before, n_moved);
        Ok(n_moved.wrapping_sub(before) as usize)
    }

    fn labels(&mut self) -> Result<Vec<u32>> {
        match self.stage.take() {
            Some(stage) => self.card.read(&stage.labels, self.level.n()),
            None => Ok(Vec::new()),
        }
    }

    fn start_refining(&mut self, labels: &[u32]) -> Result<()> {
        self.stage = Some(self.stage(labels, false)?);
        Ok(())
    }

    fn refine_class(&mut self, class: usize) -> Result<()> {
        let Some(s) = &self.stage else { return Ok(()) };
        let memories = [
            &self.offsets,
            &self.columns,
            &self.weights,
            &self.mass,
            &self.order,
            &s.labels,
            &s.sums,
            &s.parts,
            &s.part_mass,
            &s.own,
            &s.flags,
            &s.joining,
            &s.to,
            &s.weight_to,
        ];
        self.choose(class, [Kernel::ChoosePart, Kernel::ChoosePartHubs], &memories)?;
        let n_nodes = self.class(class).1;
        for shape in self.trials(class) {
            let memories = [&self.mass, &self.order, &s.part_mass, &s.joining, &s.to, &s.weight_to, &s.holds];
            self.card.launch(Kernel::HoldPart, threads(n_nodes), &memories, &shape)?;
            let memories = [
                &self.mass,
                &self.order,
                &s.holds,
                &s.weight_to,
                &s.parts,
                &s.part_mass,
                &s.own,
                &s.flags,
                &s.joining,
                &s.to,
            ];
            self.card.launch(Kernel::Join, threads(n_nodes), &memories, &shape)?;
        }
        Ok(())
    }

    fn parts(&mut self) -> Result<Vec<u32>> {
        match self.stage.take() {
            Some(stage) => self.card.read(&stage.parts, self.level.n()),
            None => Ok(Vec::new()),
        }
    }
}
