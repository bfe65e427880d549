//! The best of a row as a card lists them.

use super::Best;

impl Best {
    /// Takes a card's list in place of what was kept: `k` keys, best first, 0 from where there are no more.
    pub(crate) fn list(&mut self, keys: &[u64]) {
        self.clear();
        self.kept.extend(keys.iter().take_while(|&&key| key != 0));
        // A full list may have left rows out, an open one has not.
        self.floor = keys.last().copied().unwrap_or(0);
    }
}
