//! A card of the emulator, for tests: what the host's side asks for is done by the kernels' own source.

use std::sync::{Mutex, PoisonError};

use super::Gpu;
use super::engine::{Argument, Engine, Grid, Room};
use super::ptx::{MODULES, parameters};
use crate::cpu::Cpu;
use crate::emulate::{Arrays, Flavour, Program, build};
use crate::{Backend, CsrGraph, Device, LeidenSettings, LinkSettings, Quality, Result, Rows, Vectors};

/// The emulator with so much memory.
struct Emulated {
    program: Program,
    room: Room,
}

impl Emulated {
    /// `None`, having said so, where the machine has no C++ compiler.
    fn with(flavour: Flavour, free_bytes: u64) -> Option<Gpu<Self>> {
        let room = Room { free_bytes, shared_bytes_max: 48 << 10 };
        Some(Gpu::new(Self { program: build("host", flavour)?, room }))
    }
}

impl Engine for Emulated {
    type Memory = Mutex<Vec<u8>>;

    fn device(&self) -> Device {
        Device::Cuda(0)
    }

    fn has(&self, kernel: &str) -> bool {
        !kernel.starts_with("coloured_")
    }

    fn room(&self) -> Result<Room> {
        Ok(self.room)
    }

    fn upload(&self, bytes: &[u8]) -> Result<Self::Memory> {
        Ok(Mutex::new(bytes.to_vec()))
    }

    fn zeros(&self, n_bytes: usize) -> Result<Self::Memory> {
        self.upload(&vec![0; n_bytes])
    }

    fn download(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&memory.lock().unwrap_or_else(PoisonError::into_inner)[..bytes.len()]);
        Ok(())
    }

    fn launch(&self, kernel: &'static str, grid: Grid, arguments: &[Argument<'_, Self::Memory>]) -> Result<()> {
        assert!(grid.shared_bytes <= self.room.shared_bytes_max && grid.threads.is_multiple_of(32));
        // What the driver would be given fits what its text says.
        let text = MODULES.iter().find(|module| module.kernels.contains(&kernel)).expect("a text has it").text;
        let given: Vec<_> = arguments.iter().map(Argument::parameter).collect();
        assert_eq!(parameters(text, kernel), Some(given), "{kernel}");
        let is_memory = |argument: &Argument<'_, Self::Memory>| u8::from(matches!(argument, Argument::Memory(_)));
        let kinds: Vec<u8> = arguments.iter().map(is_memory).collect();
        let mut arrays =
            Arrays::new().bytes(kernel.as_bytes()).u32s(&[grid.blocks, grid.threads, grid.shared_bytes]).bytes(&kinds);
        for argument in arguments {
            arrays = match argument {
                Argument::Memory(memory) => arrays.bytes(&memory.lock().unwrap_or_else(PoisonError::into_inner)),
                Argument::Value(bytes) => arrays.bytes(bytes),
            };
        }
        let outputs = match self.program.run(2, &arrays) {
            Ok(outputs) => outputs,
            Err(failure) => panic!("{kernel}: {failure}"),
        };
        let memories = arguments.iter().filter_map(|argument| match argument {
            Argument::Memory(memory) => Some(memory),
            Argument::Value(_) => None,
        });
        for (idx, memory) in memories.enumerate() {
            *memory.lock().unwrap_or_else(PoisonError::into_inner) = outputs.u8s(idx);
        }
        Ok(())
    }
}

/// Numbers from 0 to `below`.
fn random(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as u32) % below.max(1)
    }
}

/// Rows near a few directions, of unit length, some of them equal.
fn rows(n: usize, dim: usize, seed: u64) -> Vectors {
    let mut next = random(seed);
    let mut data: Vec<f32> = Vec::new();
    for row in 0..n {
        if row > 0 && next(8) == 0 {
            data.extend_from_within((row - 1) * dim..);
            continue;
        }
        let topic = next(4) as usize;
        let values: Vec<f32> =
            (0..dim).map(|idx| next(2_000) as f32 / 1_000.0 - 1.0 + if idx % 4 == topic { 1.5 } else { 0.0 }).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        data.extend(values.iter().map(|value| value / length));
    }
    Vectors::new(data, dim).expect("even")
}

/// Memory for everything, and for a few sources or tiles at a time.
const ROOMS: [u64; 2] = [1 << 30, 1_500_000];

#[test]
fn a_card_links_as_the_processor_does() {
    let vectors = rows(750, 6, 1);
    let offsets = [0, 0, 1, 3, 40, 104, 104, 233, 750];
    for (flavour, room) in [Flavour::Cuda, Flavour::Metal].into_iter().zip(ROOMS) {
        let Some(card) = Emulated::with(flavour, room) else {
            return;
        };
        for settings in [
            LinkSettings::STANDARD,
            LinkSettings { neighbours_max: 3, closeness_reach: 0, ..LinkSettings::STANDARD },
            LinkSettings { similarity_min: -1.0, closeness_reach: u32::MAX, ..LinkSettings::STANDARD },
            LinkSettings { neighbours_max: 0, ..LinkSettings::STANDARD },
            LinkSettings { neighbours_max: 33, ..LinkSettings::STANDARD },
        ] {
            let found = card.link(vectors.rows(), &offsets, &settings).expect("valid");
            let want = Cpu.link(vectors.rows(), &offsets, &settings).expect("valid");
            assert_eq!(found.len(), want.len());
            for (source, (found, want)) in found.iter().zip(&want).enumerate() {
                assert_eq!(found, want, "{flavour:?} {settings:?} source {source}");
            }
        }
    }
}

#[test]
fn a_source_that_the_card_cannot_hold_is_linked_all_the_same() {
    let Some(card) = Emulated::with(Flavour::Sanitized, 700_000) else {
        return;
    };
    let vectors = rows(700, 8, 2);
    let offsets = [0, 600, 650, 700];
    let settings = LinkSettings { neighbours_max: 32, ..LinkSettings::STANDARD };
    let found = card.link(vectors.rows(), &offsets, &settings).expect("valid");
    assert_eq!(found, Cpu.link(vectors.rows(), &offsets, &settings).expect("valid"));
}

#[test]
fn a_card_finds_the_nearest_as_the_processor_does() {
    let (searched, queries) = (rows(2_500, 12, 3), rows(150, 12, 4));
    for (flavour, room) in [(Flavour::Cuda, 1 << 30), (Flavour::Metal, 420_000)] {
        let Some(card) = Emulated::with(flavour, room) else {
            return;
        };
        for (k, similarity_min) in [(0, -2.0), (1, -2.0), (7, 0.2), (32, 0.9), (32, -2.0), (33, 0.9), (5, f32::NAN)] {
            let found = card.nearest(queries.rows(), searched.rows(), k, similarity_min).expect("valid");
            let want = Cpu.nearest(queries.rows(), searched.rows(), k, similarity_min).expect("valid");
            assert_eq!(found, want, "{flavour:?} {k} {similarity_min}");
        }
        let none = Rows::new(&[], 12).expect("even");
        assert_eq!(card.nearest(none, searched.rows(), 3, 0.0).expect("valid").len(), 0);
        assert_eq!(card.nearest(queries.rows(), none, 3, 0.0).expect("valid"), vec![vec![]; 150]);
    }
}

#[test]
fn a_card_joins_rows_as_the_processor_does() {
    let rows = rows(1_100, 10, 5);
    for (flavour, room) in [(Flavour::Cuda, 1 << 30), (Flavour::Metal, 320_000)] {
        let Some(card) = Emulated::with(flavour, room) else {
            return;
        };
        for (k, similarity_min) in [(0, -2.0), (1, -2.0), (9, 0.3), (33, 0.95)] {
            let found = card.neighbours(rows.rows(), k, similarity_min).expect("valid");
            let want = Cpu.neighbours(rows.rows(), k, similarity_min).expect("valid");
            assert_eq!(found, want, "{flavour:?} {k} {similarity_min}");
        }
    }
}

/// Graphs of linked rows, some of them odd, one larger than the card's shared memory.
fn graphs() -> Vec<CsrGraph> {
    let mut graphs = Vec::new();
    for (seed, n) in [(6, 0), (7, 1), (8, 2), (9, 31), (10, 64), (11, 140), (12, 7), (13, 33)] {
        let rows = rows(n, 12, seed);
        let settings = LinkSettings { neighbours_max: 6, ..LinkSettings::STANDARD };
        graphs.extend(Cpu.link(rows.rows(), &[0, n as u32], &settings).expect("valid"));
    }
    let heavy = CsrGraph { offsets: vec![0, 1, 2], columns: vec![1, 0], weights: vec![i32::MAX; 2] };
    let ring: Vec<u32> = (0..1_500).flat_map(|node: u32| [(node + 1_499) % 1_500, (node + 1) % 1_500]).collect();
    let mut ring =
        CsrGraph { offsets: (0..=1_500).map(|node| 2 * node).collect(), columns: ring, weights: vec![9; 3_000] };
    ring.columns.chunks_exact_mut(2).for_each(<[u32]>::sort_unstable);
    graphs.extend([heavy, ring, CsrGraph::without_edges(40)]);
    graphs
}

#[test]
fn a_card_clusters_as_the_processor_does() {
    let graphs = graphs();
    for (flavour, room) in [(Flavour::Cuda, 1 << 30), (Flavour::Metal, 12_000), (Flavour::Sanitized, 4_000)] {
        let Some(card) = Emulated::with(flavour, room) else {
            return;
        };
        for quality in [
            Quality::Modularity { resolution: 1.0 },
            Quality::Modularity { resolution: 0.7 },
            Quality::Cpm { gamma: 0.5 },
            Quality::Cpm { gamma: 0.0 },
        ] {
            let settings = LeidenSettings { quality, seed: 5, rounds_max: 3 };
            let found = card.leiden(&graphs, &settings).expect("valid");
            let want = Cpu.leiden(&graphs, &settings).expect("valid");
            for (idx, (found, want)) in found.iter().zip(&want).enumerate() {
                assert_eq!(found, want, "{flavour:?} {quality:?} graph {idx}");
            }
            assert_eq!(found.len(), want.len());
        }
    }
}

#[test]
fn a_card_refuses_what_the_processor_refuses() {
    let Some(card) = Emulated::with(Flavour::Cuda, 1 << 30) else {
        return;
    };
    assert_eq!(card.name(), "cuda:0");
    let good = Rows::new(&[1.0, 0.0, 0.0, 1.0], 2).expect("even");
    let bad = Rows::new(&[f32::NAN, 0.0], 2).expect("even");
    let standard = LinkSettings::STANDARD;
    assert!(card.link(good, &[0, 2], &standard).is_ok());
    assert!(card.link(bad, &[0, 1], &standard).is_err());
    assert!(card.link(good, &[0, 3], &standard).is_err());
    assert!(card.link(good, &[0, 2], &LinkSettings { similarity_min: f32::NAN, ..standard }).is_err());
    assert!(card.nearest(bad, good, 1, 0.0).is_err() && card.nearest(good, bad, 1, 0.0).is_err());
    let settings = |gamma: f32| LeidenSettings { quality: Quality::Cpm { gamma }, seed: 1, rounds_max: 1 };
    let crooked = CsrGraph { offsets: vec![0, 1], columns: vec![0], weights: vec![1] };
    assert!(card.leiden(&[CsrGraph::without_edges(3)], &settings(0.5)).is_ok());
    assert!(card.leiden(&[crooked], &settings(0.5)).is_err() && card.leiden(&[], &settings(f32::NAN)).is_err());
    let wide = Rows::new(&[1.0, 0.0, 0.0], 3).expect("even");
    assert!(card.nearest(wide, good, 1, 0.0).is_err());
    let tiny = Emulated::with(Flavour::Cuda, 1_000).expect("a compiler");
    assert!(matches!(tiny.nearest(good, good, 1, 0.0), Err(crate::Error::OutOfMemory { .. })));
}
