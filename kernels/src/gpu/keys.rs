//! The keys of picks: a score and a column in one word, as `nearest.cu` sorts them.

use crate::Neighbour;

/// The pick that a key stands for; `None` for 0, which is no pick. The column is told from `column_first` on.
pub(crate) fn pick(key: u64, column_first: u32) -> Option<Neighbour> {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered ^ (1 << 31) } else { !ordered };
    (key != 0).then(|| Neighbour { row: !(key as u32) + column_first, score: f32::from_bits(bits) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in `nearest.cu`.
    fn key(score: f32, column: u32) -> u64 {
        let bits = score.to_bits();
        let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        u64::from(ordered) << 32 | u64::from(!column)
    }

    #[test]
    fn keys_come_back_and_sort_as_picks_do() {
        let scores = [-2.0, -1.0, -f32::MIN_POSITIVE, -0.0, 0.0, 0.25, 1.0, 1.5];
        for (idx, &score) in scores.iter().enumerate() {
            let found = pick(key(score, 7), 100).expect("a pick");
            assert_eq!((found.row, found.score.to_bits()), (107, score.to_bits()));
            assert!(idx == 0 || key(score, 9) > key(scores[idx - 1], 3), "{score}");
        }
        assert!(key(0.5, 3) > key(0.5, 4), "equal scores go to the lower column");
        assert_eq!(pick(0, 0), None);
    }
}
