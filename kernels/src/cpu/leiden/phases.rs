//! The three phases of a level: move nodes, refine communities, aggregate parts.
//!
//! Knows one level at a time; levels, rounds and starts are the business of `serial`. Every decision is a
//! comparison of exact integers with ties by number, so none depends on the order of edges.

use std::mem;

use super::level::Level;
use super::order::Affine;
use super::rule::{Gain, Gains, Sum};

/// No part, no number.
const NONE: u32 = u32::MAX;

/// What a community (or, while parts form and are added up, a part) holds.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<W> {
    mass: i64,
    /// Weight towards the node at hand; 0 between visits.
    sum: W,
    n_nodes: u32,
}

/// Room for the phases of a level, kept from graph to graph: 61 bytes a node, 73 with sums of 64 bits.
#[derive(Debug, Default)]
pub(in crate::cpu) struct Phases<W> {
    /// The community of each node, below the number of nodes.
    pub labels: Vec<u32>,
    /// The part of each node after [`Phases::refine`], its number in the next level after
    /// [`Phases::aggregate`].
    pub parts: Vec<u32>,
    /// The communities of the next level's nodes, after [`Phases::aggregate`].
    pub labels_next: Vec<u32>,
    slots: Vec<Slot<W>>,
    /// Labels met at the node at hand; one place more than nodes.
    seen: Vec<u32>,
    /// 1 for a node that waits for a visit, in whole words of 8.
    active: Vec<u8>,
    /// Weight of a node to the rest of its community; of a part, while parts form.
    cut: Vec<W>,
    part_mass: Vec<i64>,
    /// Nodes of a part that is named by this one; 0 for a node that joined another.
    part_nodes: Vec<u32>,
    /// Scratch of the aggregation: numbers by label, bounds of the parts' members, the members.
    numbers: Vec<u32>,
    bounds: Vec<u32>,
    members: Vec<u32>,
}

/// What a visit found: the community to be in, its gain, and the weight towards it.
struct Choice<W, G> {
    to: usize,
    gain: G,
    sum: W,
    stay: G,
}

impl<W: Sum> Phases<W> {
    /// Makes room for levels of up to `n` nodes.
    pub(in crate::cpu) fn reserve(&mut self, n: usize) {
        if self.seen.len() > n {
            return;
        }
        for numbers in [
            &mut self.labels,
            &mut self.parts,
            &mut self.labels_next,
            &mut self.seen,
            &mut self.part_nodes,
            &mut self.numbers,
            &mut self.members,
        ] {
            numbers.resize(n + 1, 0);
        }
        self.bounds.resize(n + 2, 0);
        self.slots.resize(n, Slot::default());
        self.active.resize(n.next_multiple_of(8), 0);
        self.cut.resize(n, W::default());
        self.part_mass.resize(n, 0);
    }

    /// Moves nodes to the community that gains most, in sweeps, until none gains; returns the number of
    /// moves and what they gained.
    ///
    /// It ends because every move raises an integer that the graph bounds.
    pub(in crate::cpu) fn move_nodes<G: Gain>(&mut self, level: &Level<W>, gains: Gains<G>) -> (u64, G) {
        let m = level.n();
        let n_words = m.div_ceil(8);
        let slots = &mut self.slots[..m];
        slots.fill(Slot::default());
        for (&label, &mass) in self.labels[..m].iter().zip(&level.mass) {
            let slot = &mut slots[label as usize];
            slot.mass += mass;
            slot.n_nodes += 1;
        }
        self.active[..n_words * 8].fill(0);
        self.active[..m].fill(1);
        let (mut n_moves, mut gained) = (0, G::default());
        let mut waiting = m > 0;
        while waiting {
            for word in 0..n_words {
                while let Some(node) = next_active(&self.active, word) {
                    self.active[node] = 0;
                    let choice = self.choose(level, gains, node);
                    if choice.to != self.labels[node] as usize {
                        n_moves += 1;
                        gained += choice.gain - choice.stay;
                        self.settle(level, node, choice.to);
                    }
                }
            }
            waiting = self.active[..m].iter().any(|&active| active != 0) || self.wake_losers(level, gains);
        }
        (n_moves, gained)
    }

    /// Wakes the nodes that would rather be alone: masses may have grown since their visit, and no one who joined
    /// was a neighbour. Without them every node left is well connected to its community.
    fn wake_losers<G: Gain>(&mut self, level: &Level<W>, gains: Gains<G>) -> bool {
        let m = level.n();
        let mut woken = false;
        let nodes = self.labels[..m].iter().zip(&level.mass).zip(&self.cut[..m]);
        for (((&label, &mass), &cut), active) in nodes.zip(&mut self.active[..m]) {
            let rest = self.slots[label as usize].mass - mass;
            let loses = gains.of(cut, gains.pushed(mass), rest) < G::default();
            *active = u8::from(loses);
            woken |= loses;
        }
        woken
    }

    /// Where a node is best; its mass is added there.
    #[inline(always)]
    fn choose<G: Gain>(&mut self, level: &Level<W>, gains: Gains<G>, node: usize) -> Choice<W, G> {
        let m = level.n();
        let (labels, slots, seen) = (&self.labels[..m], &mut self.slots[..m], &mut self.seen[..=m]);
        let (own, mass) = (labels[node] as usize, level.mass[node]);
        let mut n_seen = 0;
        for &(other, weight) in level.row(node) {
            let label = labels[other as usize];
            let slot = &mut slots[label as usize];
            seen[n_seen] = label;
            n_seen += usize::from(slot.sum == W::default());
            slot.sum += weight;
        }
        let pushed = gains.pushed(mass);
        slots[own].mass -= mass;
        let sum = slots[own].sum;
        let stay = gains.of(sum, pushed, slots[own].mass);
        let (mut top, mut to, mut top_sum) = (stay, own as u32, sum);
        for &label in &seen[..n_seen] {
            let slot = &mut slots[label as usize];
            let sum = mem::take(&mut slot.sum);
            let gain = gains.of(sum, pushed, slot.mass);
            // The own community ties with staying, and staying wins below.
            if gain > top || (gain == top && label < to) {
                (top, to, top_sum) = (gain, label, sum);
            }
        }
        let mut choice = Choice { to: own, gain: stay, sum, stay };
        if top > stay {
            choice = Choice { to: to as usize, gain: top, sum: top_sum, stay };
        }
        if top < G::default() && slots[own].n_nodes > 1 {
            // With two nodes in this community some other community has none.
            let to = slots.iter().position(|slot| slot.n_nodes == 0).unwrap_or(own);
            choice = Choice { to, gain: G::default(), sum: W::default(), stay };
        }
        self.cut[node] = choice.sum;
        slots[choice.to].mass += mass;
        choice
    }

    /// Puts a node into another community, keeps the cuts of its neighbours and wakes those outside.
    #[inline(always)]
    fn settle(&mut self, level: &Level<W>, node: usize, to: usize) {
        let m = level.n();
        let labels = &mut self.labels[..m];
        let own = mem::replace(&mut labels[node], to as u32) as usize;
        self.slots[own].n_nodes -= 1;
        self.slots[to].n_nodes += 1;
        let (cut, active) = (&mut self.cut[..m], &mut self.active[..m]);
        for &(other, weight) in level.row(node) {
            let other = other as usize;
            let label = labels[other] as usize;
            active[other] |= u8::from(label != to);
            let cut = &mut cut[other];
            *cut += if label == to { weight } else { W::default() };
            *cut -= if label == own { weight } else { W::default() };
        }
    }

    /// Finds the parts of communities that hold together: lone nodes join a part of their own community if
    /// both are well connected to the rest of it and the join does not cost. Returns the number of parts.
    ///
    /// After [`Phases::move_nodes`] on the same level, whose masses and cuts it uses. A part is named by the
    /// node that others joined.
    pub(in crate::cpu) fn refine<G: Gain>(&mut self, level: &Level<W>, gains: Gains<G>, order: Affine) -> usize {
        let m = level.n();
        let labels = &self.labels[..m];
        let (parts, cut) = (&mut self.parts[..m], &mut self.cut[..m]);
        let (part_mass, part_nodes) = (&mut self.part_mass[..m], &mut self.part_nodes[..m]);
        let (slots, seen) = (&mut self.slots[..m], &mut self.seen[..=m]);
        parts.iter_mut().zip(0..).for_each(|(part, node)| *part = node);
        part_mass.copy_from_slice(&level.mass);
        part_nodes.fill(1);
        let mut n_parts = m;
        for node in order.nodes() {
            // In a community of one there is nothing to join, and no cut either. A lone node is well connected:
            // if it were not, it would have left in `move_nodes`.
            if (part_nodes[node] != 1) | (cut[node] == W::default()) {
                continue;
            }
            let (own, mass) = (labels[node], level.mass[node]);
            let whole = slots[own as usize].mass;
            let pushed = gains.pushed(mass);
            let mut n_seen = 0;
            for &(other, weight) in level.row(node) {
                let other = other as usize;
                let part = parts[other];
                let same = labels[other] == own;
                let slot = &mut slots[part as usize];
                seen[n_seen] = part;
                n_seen += usize::from(same & (slot.sum == W::default()));
                slot.sum += if same { weight } else { W::default() };
            }
            let (mut top, mut to, mut between) = (G::default(), NONE, W::default());
            for &part in &seen[..n_seen] {
                let at = part as usize;
                let sum = mem::take(&mut slots[at].sum);
                let gain = gains.of(sum, pushed, part_mass[at]);
                if gain > top || (gain == top && part < to) {
                    let pushed = gains.pushed(part_mass[at]);
                    if gains.of(cut[at], pushed, whole - part_mass[at]) >= G::default() {
                        (top, to, between) = (gain, part, sum);
                    }
                }
            }
            if to != NONE {
                let at = to as usize;
                parts[node] = to;
                part_nodes[node] = 0;
                part_nodes[at] += 1;
                part_mass[at] += mass;
                let own_cut = cut[node];
                cut[at] += own_cut;
                cut[at] -= between;
                cut[at] -= between;
                n_parts -= 1;
            }
        }
        n_parts
    }

    /// Makes the next level: one node a part, numbered by its lowest node; each keeps its community, which is
    /// named by the lowest part in it.
    pub(in crate::cpu) fn aggregate(&mut self, level: &Level<W>, n_parts: usize, next: &mut Level<W>) {
        next.clear();
        self.number_parts(level.n(), n_parts, next);
        let (slots, seen) = (&mut self.slots[..n_parts], &mut self.seen[..=n_parts]);
        slots.fill(Slot::default());
        let parts = &self.parts[..level.n()];
        let mut start = 0;
        for (part, &end) in self.bounds[..n_parts].iter().enumerate() {
            let mut n_seen = 0;
            for &node in &self.members[start as usize..end as usize] {
                for &(other, weight) in level.row(node as usize) {
                    let other = parts[other as usize];
                    let slot = &mut slots[other as usize];
                    seen[n_seen] = other;
                    n_seen += usize::from(slot.sum == W::default());
                    slot.sum += weight;
                }
            }
            slots[part].sum = W::default();
            for &other in &seen[..n_seen] {
                let sum = mem::take(&mut slots[other as usize].sum);
                if sum != W::default() {
                    next.edges.push((other, sum));
                }
            }
            next.offsets.push(next.edges.len() as u32);
            start = end;
        }
    }

    /// Numbers the parts, their communities and their members.
    fn number_parts(&mut self, m: usize, n_parts: usize, next: &mut Level<W>) {
        let parts = &mut self.parts[..m];
        let numbers = &mut self.numbers[..m];
        let bounds = &mut self.bounds[..=n_parts];
        bounds.fill(0);
        numbers.fill(NONE);
        let mut n_found = 0;
        for part in parts.iter_mut() {
            let named = *part as usize;
            let number = &mut numbers[named];
            if *number == NONE {
                *number = n_found;
                n_found += 1;
                next.mass.push(self.part_mass[named]);
            }
            *part = *number;
            bounds[*number as usize + 1] += 1;
        }
        numbers.fill(NONE);
        for (&label, &part) in self.labels[..m].iter().zip(parts.iter()) {
            // The lowest node of a community is in its lowest part.
            let number = &mut numbers[label as usize];
            *number = (*number).min(part);
            self.labels_next[part as usize] = *number;
        }
        for part in 1..n_parts {
            bounds[part] += bounds[part - 1];
        }
        for (&part, node) in parts.iter().zip(0..) {
            let bound = &mut bounds[part as usize];
            self.members[*bound as usize] = node;
            *bound += 1;
        }
    }
}

/// The lowest active node of a word of 8.
#[inline(always)]
fn next_active(active: &[u8], word: usize) -> Option<usize> {
    let bytes = active[word * 8..][..8].first_chunk().copied().unwrap_or_default();
    let bits = u64::from_le_bytes(bytes);
    (bits != 0).then(|| word * 8 + (bits.trailing_zeros() / 8) as usize)
}
