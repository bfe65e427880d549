//! Runs of jobs that fit into a card's memory together.

use std::ops::Range;

use super::engine::Room;

/// The share of a card's free memory that one batch may take: others use the card too.
const FREE_SHARE: f64 = 0.75;
/// Most bytes of a batch of several jobs: more would not be quicker, and the host holds as many.
const BATCH_BYTES_MAX: u64 = 4 << 30;

/// Consecutive jobs, and where they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Which jobs.
    pub jobs: Range<usize>,
    /// Whether the card can hold them; else they are for the processor.
    pub on_card: bool,
}

/// How many bytes the batches on a card may take in all.
pub(crate) fn budget(room: Room) -> u64 {
    (room.free_bytes as f64 * FREE_SHARE) as u64
}

/// Cuts jobs of `bytes[job]` on a card into batches of at most `budget` bytes, in order.
///
/// A job that is larger by itself, or that takes `None`, is for the processor.
pub(crate) fn batches(bytes: &[Option<u64>], budget: u64) -> Vec<Batch> {
    let together = budget.min(BATCH_BYTES_MAX);
    let mut batches: Vec<Batch> = Vec::new();
    let mut sum = 0_u64;
    for (job, bytes) in bytes.iter().enumerate() {
        let bytes = bytes.filter(|&bytes| bytes <= budget);
        match batches.last_mut() {
            Some(last) if bytes.is_none() && !last.on_card => last.jobs.end = job + 1,
            Some(last) if bytes.is_some_and(|bytes| sum.saturating_add(bytes) <= together) && last.on_card => {
                last.jobs.end = job + 1;
                sum += bytes.unwrap_or(0);
            }
            _ => {
                batches.push(Batch { jobs: job..job + 1, on_card: bytes.is_some() });
                sum = bytes.unwrap_or(0);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_taken_together_while_they_fit() {
        let said = |bytes: &[Option<u64>], budget: u64| {
            let one = |batch: &Batch| format!("{:?}{}", batch.jobs, if batch.on_card { "" } else { " cpu" });
            batches(bytes, budget).iter().map(one).collect::<Vec<_>>()
        };
        assert_eq!(said(&[], 10), [""; 0]);
        assert_eq!(said(&[Some(4), Some(6), Some(1)], 10), ["0..2", "2..3"]);
        assert_eq!(said(&[Some(11), Some(12), Some(1), None, Some(2)], 10), ["0..2 cpu", "2..3", "3..4 cpu", "4..5"]);
        assert_eq!(said(&[Some(0), Some(0)], 0), ["0..2"]);
        // One large job may take all of the budget, several together only so much.
        let large = BATCH_BYTES_MAX + 1;
        assert_eq!(said(&[Some(large), Some(1), Some(large - 1)], u64::MAX), ["0..1", "1..2", "2..3"]);
    }

    #[test]
    fn a_part_of_the_free_memory_is_taken() {
        assert_eq!(budget(Room { free_bytes: 4_000, shared_bytes_max: 0 }), 3_000);
        assert_eq!(budget(Room { free_bytes: 0, shared_bytes_max: 0 }), 0);
    }
}
