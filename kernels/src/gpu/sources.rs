//! The kernels' sources and the names of their entries, for cards that compile them when they are opened.

use super::{LEIDEN, NEAREST};

/// What the sources include by name.
const PORT: &str = include_str!("port.h");
/// How they include it.
const INCLUDES_PORT: &str = "#include \"port.h\"";

/// A file of kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// Its text, which includes "port.h".
    text: &'static str,
    /// The names of its entries.
    pub kernels: &'static [&'static str],
}

/// Every file of kernels.
pub(crate) const SOURCES: [Source; 2] = [
    Source { text: include_str!("nearest.cu"), kernels: &NEAREST },
    Source { text: include_str!("leiden.cu"), kernels: &LEIDEN },
];

impl Source {
    /// The text with what it includes put in: a compiler at run time has no files.
    pub(crate) fn whole(&self) -> String {
        self.text.replace(INCLUDES_PORT, PORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in `KERNEL(name, …)`, in the order of the text.
    fn entries(text: &str) -> Vec<&str> {
        let rest = text.split("\nKERNEL(").skip(1);
        rest.filter_map(|rest| rest.split(',').next()).collect()
    }

    #[test]
    fn every_entry_is_named_and_nothing_else_is_included() {
        for source in SOURCES {
            assert_eq!(entries(source.text), source.kernels);
            let whole = source.whole();
            assert!(whole.contains("#define KERNEL(") && !whole.contains("#include \""), "{:?}", source.kernels);
        }
    }
}
