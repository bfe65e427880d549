//! Puts mails into threads by the ids they name.
//!
//! Knows ids alone. The first id that a mail names in `References` began its thread; where only the mail
//! it answers is named, that one's thread is its own. A thread is called by the id that began it, also
//! where that mail is not in the archive.

use std::collections::HashMap;

/// The ids of an archive, and which stands below which.
#[derive(Debug, Default)]
pub(super) struct Threads {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// By number: the id above it. Invariant: no id is above itself.
    above: Vec<Option<u32>>,
}

impl Threads {
    /// Takes a mail's ids, the one that began its thread first, its own last; the number of the last.
    pub fn add<'i>(&mut self, ids: impl IntoIterator<Item = &'i str>) -> Option<u32> {
        let mut last: Option<u32> = None;
        for id in ids {
            let number = self.number(id)?;
            if let Some(upper) = last {
                self.link(upper, number);
            }
            last = Some(number);
        }
        last
    }

    /// The id that began the thread of `number`, as a number.
    pub fn root(&mut self, number: u32) -> u32 {
        let mut at = number;
        while let Some(upper) = self.above[at as usize] {
            // Halving the path keeps long threads near their beginning.
            let further = self.above[upper as usize];
            self.above[at as usize] = further.or(Some(upper));
            at = upper;
        }
        at
    }

    /// The id with this number.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    fn number(&mut self, id: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(id) {
            return Some(*number);
        }
        let number = u32::try_from(self.names.len()).ok()?;
        self.numbers.insert(id.to_owned(), number);
        self.names.push(id.to_owned());
        self.above.push(None);
        Some(number)
    }

    fn link(&mut self, upper: u32, lower: u32) {
        // The first word on what an id answers holds: what contradicts it would tear or close a circle.
        if self.above[lower as usize].is_none() && self.root(upper) != lower {
            self.above[lower as usize] = Some(upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(threads: &mut Threads, number: Option<u32>) -> String {
        let root = threads.root(number.unwrap());
        threads.name(root).to_owned()
    }

    #[test]
    fn a_reply_stands_in_the_thread_of_what_it_answers() {
        let mut threads = Threads::default();
        let reply = threads.add(["b", "c"]);
        let middle = threads.add(["a", "b"]);
        let alone = threads.add(["d"]);
        assert_eq!(thread(&mut threads, reply), "a");
        assert_eq!(thread(&mut threads, middle), "a");
        assert_eq!(thread(&mut threads, alone), "d");
        assert_eq!(threads.add([]), None);
    }

    #[test]
    fn ids_in_a_circle_are_one_thread() {
        let mut threads = Threads::default();
        let all = [threads.add(["a", "b"]), threads.add(["b", "c"]), threads.add(["c", "a"]), threads.add(["a", "a"])];
        let roots = all.map(|number| thread(&mut threads, number));
        assert!(roots.iter().all(|root| root == "a"));
    }

    #[test]
    fn a_long_thread_has_one_beginning() {
        let mut threads = Threads::default();
        let ids: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let last = ids.windows(2).rev().map(|pair| threads.add([pair[0].as_str(), pair[1].as_str()])).next();
        for pair in ids.windows(2).rev() {
            threads.add([pair[0].as_str(), pair[1].as_str()]);
        }
        assert_eq!(thread(&mut threads, last.unwrap()), "0");
    }
}
