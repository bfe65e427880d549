//! The kernels as NVIDIA's driver takes them, and what their text says of their parameters.
//!
//! The text is checked in and rebuilt byte for byte from the sources beside it: `kernels/tools`.

use super::engine::Argument;
use super::{LEIDEN, NEAREST};

/// One text of kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    /// PTX, for cards from `trouble::CAPABILITY_MIN` on.
    pub text: &'static str,
    /// The names of its entries.
    pub kernels: &'static [&'static str],
}

/// The entries of `coloured.cu`: CUDA only, sums of 64 bits are added to shared memory.
const COLOURED: [&str; 14] = [
    "coloured_pick",
    "coloured_give",
    "coloured_lose",
    "coloured_keep",
    "coloured_masses",
    "coloured_choose",
    "coloured_choose_hubs",
    "coloured_hold",
    "coloured_move",
    "coloured_cut",
    "coloured_choose_part",
    "coloured_choose_part_hubs",
    "coloured_hold_part",
    "coloured_join",
];
/// Every text of kernels.
pub(crate) const MODULES: [Module; 3] = [
    Module { text: include_str!("ptx/nearest.ptx"), kernels: &NEAREST },
    Module { text: include_str!("ptx/leiden.ptx"), kernels: &LEIDEN },
    Module { text: include_str!("ptx/coloured.ptx"), kernels: &COLOURED },
];

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// An address in the card's memory.
    Memory,
    /// A small struct of so many bytes.
    Value(usize),
}

impl<M> Argument<'_, M> {
    /// The parameter that it fits.
    pub(crate) fn parameter(&self) -> Parameter {
        match self {
            Self::Memory(_) => Parameter::Memory,
            Self::Value(bytes) => Parameter::Value(bytes.len()),
        }
    }
}

/// The parameters of an entry of `text`, in their order; `None` where it has no such entry, or one that takes
/// anything else than addresses and structs.
pub(crate) fn parameters(text: &str, kernel: &str) -> Option<Vec<Parameter>> {
    let (_, rest) = text.split_once(&format!(".entry {kernel}("))?;
    let (list, _) = rest.split_once(')')?;
    list.split(',').map(parameter).collect()
}

fn parameter(declaration: &str) -> Option<Parameter> {
    let declaration = declaration.trim();
    if declaration.starts_with(".param .u64 ") {
        return Some(Parameter::Memory);
    }
    let (_, length) = declaration.strip_suffix(']')?.rsplit_once('[')?;
    declaration.contains(" .b8 ").then_some(())?;
    length.parse().ok().map(Parameter::Value)
}

#[cfg(test)]
mod tests {
    use super::super::trouble::{CAPABILITY_MIN, CUDA_MIN};
    use super::*;

    #[test]
    fn parameters_are_read_from_the_text() {
        let text = ".visible .entry one(\n\t.param .u64 one_param_0,\n\t.param .align 8 .b8 one_param_1[24]\n)\n{ ret; }\n\
                    .visible .entry two(\n\t.param .u32 two_param_0\n)\n";
        assert_eq!(parameters(text, "one"), Some(vec![Parameter::Memory, Parameter::Value(24)]));
        assert_eq!(parameters(text, "two"), None);
        assert_eq!(parameters(text, "three"), None);
    }

    #[test]
    fn every_text_has_its_kernels_and_needs_no_more_than_is_said() {
        for module in MODULES {
            let entries = module.text.matches(".visible .entry ").count();
            assert_eq!(entries, module.kernels.len(), "{:?}", module.kernels);
            for kernel in module.kernels {
                let parameters = parameters(module.text, kernel).unwrap_or_default();
                assert!(parameters.contains(&Parameter::Memory), "{kernel}: {parameters:?}");
            }
            // CUDA 13.0 reads the language up to 9.0.
            assert_eq!((CUDA_MIN, CAPABILITY_MIN), (13_000, (7, 5)));
            assert!(module.text.contains("\n.version 9.0\n.target sm_75\n"), "{:?}", module.kernels);
        }
    }
}
