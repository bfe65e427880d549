//! English sentences of a seeded generator: the text that speed is measured on where no data set is at hand.
//!
//! About 23.4 word pieces a sentence, special ones included, of 6 to 50; some 330 words, names, numbers and rare
//! words that are several pieces.

const NAMES: [&str; 16] = [
    "Ana", "Boris", "Chidi", "Dolores", "Einar", "Farida", "Goran", "Hanneke", "Ivo", "Jasmin", "Keiko", "Lorenzo",
    "Mbali", "Nuria", "Otto", "Priya",
];
const NOUNS: [&str; 64] = [
    "harbour",
    "ferry",
    "library",
    "orchard",
    "letter",
    "bridge",
    "notebook",
    "market",
    "engine",
    "lighthouse",
    "garden",
    "meeting",
    "recipe",
    "train",
    "violin",
    "window",
    "storm",
    "invoice",
    "camera",
    "kitchen",
    "river",
    "schedule",
    "island",
    "report",
    "clinic",
    "festival",
    "workshop",
    "password",
    "blanket",
    "museum",
    "teacher",
    "neighbour",
    "bicycle",
    "contract",
    "forest",
    "printer",
    "concert",
    "passport",
    "telescope",
    "bakery",
    "committee",
    "chimney",
    "lantern",
    "archive",
    "mountain",
    "translation",
    "tournament",
    "greenhouse",
    "customs",
    "thermometer",
    "rehearsal",
    "scaffold",
    "windmill",
    "sculptor",
    "barometer",
    "peninsula",
    "marmalade",
    "cartographer",
    "quarry",
    "estuary",
    "apprentice",
    "typewriter",
    "glacier",
    "almanac",
];
const VERBS: [&str; 40] = [
    "repaired",
    "visited",
    "painted",
    "forgot",
    "found",
    "moved",
    "opened",
    "sold",
    "described",
    "measured",
    "closed",
    "photographed",
    "borrowed",
    "finished",
    "cancelled",
    "remembered",
    "watched",
    "cleaned",
    "translated",
    "lost",
    "inherited",
    "rebuilt",
    "rented",
    "praised",
    "hid",
    "delivered",
    "renamed",
    "inspected",
    "postponed",
    "carried",
    "sketched",
    "misplaced",
    "rescued",
    "catalogued",
    "polished",
    "abandoned",
    "ordered",
    "compared",
    "unlocked",
    "wrote",
];
const ADJECTIVES: [&str; 40] = [
    "old",
    "green",
    "quiet",
    "broken",
    "new",
    "narrow",
    "heavy",
    "famous",
    "empty",
    "wooden",
    "cheap",
    "distant",
    "careful",
    "yellow",
    "foggy",
    "small",
    "borrowed",
    "crowded",
    "expensive",
    "silent",
    "rusty",
    "unfinished",
    "northern",
    "frozen",
    "fragile",
    "generous",
    "stubborn",
    "enormous",
    "crooked",
    "weathered",
    "lukewarm",
    "anonymous",
    "provincial",
    "translucent",
    "reluctant",
    "threadbare",
    "modest",
    "hollow",
    "bright",
    "late",
];
const PLACES: [&str; 24] = [
    "near the station",
    "in Lyon",
    "behind the church",
    "on the second floor",
    "at the border",
    "in the valley",
    "across the canal",
    "in Tromsø",
    "under the stairs",
    "by the lake",
    "in the old town",
    "at the airport",
    "on Friday evening",
    "in the spring of 1987",
    "after the flood",
    "before breakfast",
    "two weeks later",
    "during the strike",
    "at half past nine",
    "in early November",
    "on the way home",
    "without saying why",
    "for 340 kroner",
    "together with the others",
];
const LINKS: [&str; 12] =
    ["and", "but", "because", "although", "while", "so", "until", "and then", "whereas", "after", "since", "when"];

/// Makes sentences; equal seeds make equal ones.
pub struct Maker {
    state: u64,
}

impl Maker {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The next sentence, with its full stop.
    pub fn sentence(&mut self) -> String {
        let n_clauses = [1, 1, 1, 2, 2, 2, 2, 3, 3, 4][self.below(10)];
        let mut sentence = self.clause();
        for _ in 1..n_clauses {
            let link = self.pick(&LINKS);
            let clause = self.clause();
            sentence = format!("{sentence}, {link} {clause}");
        }
        format!("{sentence}.")
    }

    fn clause(&mut self) -> String {
        let who = match self.below(3) {
            0 => format!("the {}", self.pick(&NOUNS)),
            1 => format!("the {} {}", self.pick(&ADJECTIVES), self.pick(&NOUNS)),
            _ => self.pick(&NAMES).to_owned(),
        };
        let what = match self.below(3) {
            0 => format!("the {}", self.pick(&NOUNS)),
            1 => format!("a {} {}", self.pick(&ADJECTIVES), self.pick(&NOUNS)),
            _ => format!("{} of the {}s", self.below(900) + 2, self.pick(&NOUNS)),
        };
        let clause = format!("{who} {} {what}", self.pick(&VERBS));
        match self.below(2) {
            0 => clause,
            _ => format!("{clause} {}", self.pick(&PLACES)),
        }
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_make_equal_sentences_and_others_do_not() {
        let sentences = |seed| {
            let mut maker = Maker::new(seed);
            (0..20).map(|_| maker.sentence()).collect::<Vec<_>>()
        };
        assert_eq!(sentences(1), sentences(1));
        assert_ne!(sentences(1), sentences(2));
        assert!(sentences(1).iter().all(|sentence| sentence.ends_with('.')));
    }
}
