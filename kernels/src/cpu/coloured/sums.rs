//! Sums of weights by label: a small open hash table that costs what its row costs, whatever the graph's size.

use std::sync::{Mutex, MutexGuard, PoisonError};

const EMPTY: u32 = u32::MAX;
/// Slots of the smallest table.
const SLOTS_MIN: usize = 16;

/// Sums of weights by label of one row. Always empty between rows.
///
/// Invariant: outside of a row every key is `EMPTY`.
pub(super) struct Sums {
    slots: Vec<(u32, i64)>,
    used: Vec<u32>,
    mask: usize,
}

impl Sums {
    fn new() -> Self {
        Self { slots: vec![(EMPTY, 0); SLOTS_MIN], used: Vec::new(), mask: SLOTS_MIN - 1 }
    }

    /// Forgets the row before and makes room for `n_labels`; at most half of the slots are ever taken.
    pub(super) fn start(&mut self, n_labels: usize) {
        for &slot in &self.used {
            self.slots[slot as usize].0 = EMPTY;
        }
        self.used.clear();
        let n_slots = (2 * n_labels).next_power_of_two().max(SLOTS_MIN);
        if n_slots > self.slots.len() {
            self.slots.resize(n_slots, (EMPTY, 0));
        }
        self.mask = n_slots - 1;
    }

    /// Adds `weight` to the sum of `label`.
    #[inline]
    pub(super) fn add(&mut self, label: u32, weight: i64) {
        let mut slot = spread(label) & self.mask;
        loop {
            let entry = &mut self.slots[slot];
            if entry.0 == label {
                entry.1 += weight;
                return;
            }
            if entry.0 == EMPTY {
                *entry = (label, weight);
                self.used.push(slot as u32);
                return;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// Labels and sums in the order in which labels were first added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.used.iter().map(|&slot| self.slots[slot as usize])
    }
}

/// Fibonacci hashing. Source: Knuth, The Art of Computer Programming, volume 3, section 6.4.
fn spread(label: u32) -> usize {
    (label.wrapping_mul(0x9e37_79b9) >> 12) as usize
}

/// One table a thread.
pub(super) struct Tables(Vec<Mutex<Sums>>);

impl Tables {
    pub(super) fn new() -> Self {
        Self((0..rayon::current_num_threads()).map(|_| Mutex::new(Sums::new())).collect())
    }

    /// The table of the calling thread. A holder must not call into the thread pool.
    pub(super) fn mine(&self) -> MutexGuard<'_, Sums> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        // A table left behind by a panic is cleared by the next `start`.
        self.0[thread % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_see_each_other() {
        let mut sums = Sums::new();
        sums.start(40);
        (0..80_u32).for_each(|edge| sums.add(edge % 40 * 1_000_003, 1));
        assert_eq!(sums.iter().count(), 40);
        assert!(sums.iter().all(|(_, sum)| sum == 2));
        sums.start(1);
        assert_eq!(sums.iter().count(), 0);
        sums.add(0, 5);
        sums.add(0, 6);
        assert_eq!(sums.iter().collect::<Vec<_>>(), [(0, 11)]);
    }
}
