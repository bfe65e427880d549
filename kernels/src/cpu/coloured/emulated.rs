//! The kernels of large graphs on an emulated card, against the processor: the same labels in every order of threads.

use std::cell::RefCell;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use super::card::{Card, Grid, Kernel, OnCard, Shape};
use super::level::Level;
use super::processor::Processor;
use super::rule::Rule;
use super::schedule::{Device as _, Steps as _};
use super::tests::{Random, graph, planted};
use super::{Limits, partition, partition_on};
use crate::gpu::ptx::{MODULES, Parameter, parameters};
use crate::{CsrGraph, LeidenSettings, Quality, Result};

use crate::emulate::{Flavour, ORDERS, Program, build};

/// A card that is a child process; `emulator/coloured.cc` says how it is spoken to.
struct Emulated {
    child: Child,
    ends: Rc<RefCell<Ends>>,
}

struct Ends {
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    n_taken: u64,
}

impl Ends {
    fn tell(&mut self, request: u32, numbers: &[u64], bytes: &[u8]) {
        let words = numbers.iter().flat_map(|number| number.to_le_bytes());
        let all: Vec<u8> = request.to_le_bytes().into_iter().chain(words).chain(bytes.iter().copied()).collect();
        self.to.write_all(&all).expect("the emulator listens");
    }
}

/// Memory of the emulated card, given back with its guards checked.
struct Memory {
    number: u64,
    ends: Rc<RefCell<Ends>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut ends = self.ends.borrow_mut();
        let request = [&3_u32.to_le_bytes()[..], &self.number.to_le_bytes()[..]].concat();
        // A card that broke is reported by whoever reads from it.
        drop(ends.to.write_all(&request));
    }
}

impl Emulated {
    fn start(program: &Program, order: u32) -> Self {
        let mut command = Command::new(program.path());
        let piped = command.arg(order.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("the program starts");
        let to = BufWriter::new(child.stdin.take().expect("piped"));
        let from = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, ends: Rc::new(RefCell::new(Ends { to, from, n_taken: 0 })) }
    }

    fn take(&self, bytes: &[u8]) -> Memory {
        let mut ends = self.ends.borrow_mut();
        ends.tell(0, &[bytes.len() as u64], bytes);
        ends.n_taken += 1;
        Memory { number: ends.n_taken - 1, ends: Rc::clone(&self.ends) }
    }

    /// Lets the program end and check what is left.
    fn end(self) {
        let Self { mut child, ends } = self;
        drop(ends);
        assert!(child.wait().expect("it ends").success(), "the emulator found a fault");
    }
}

impl Card for Emulated {
    type Memory = Memory;

    fn words(&self, values: &[u32]) -> Result<Memory> {
        Ok(self.take(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()))
    }

    fn signed(&self, values: &[i32]) -> Result<Memory> {
        Ok(self.take(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()))
    }

    fn longs(&self, values: &[i64]) -> Result<Memory> {
        Ok(self.take(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()))
    }

    fn zeros(&self, n_bytes: usize) -> Result<Memory> {
        Ok(self.take(&vec![0; n_bytes]))
    }

    fn read(&self, memory: &Memory, n: usize) -> Result<Vec<u32>> {
        let mut ends = self.ends.borrow_mut();
        ends.tell(1, &[memory.number, 4 * n as u64], &[]);
        ends.to.flush().expect("the emulator listens");
        let mut bytes = vec![0; 4 * n];
        ends.from.read_exact(&mut bytes).expect("the emulator answers; its report stands above");
        Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole"))).collect())
    }

    fn launch(&self, kernel: Kernel, grid: Grid, memories: &[&Memory], shape: &Shape) -> Result<()> {
        // What the driver would be given fits what its text says.
        let text = MODULES.iter().find(|module| module.kernels.contains(&kernel.name())).expect("a text has it").text;
        let mut given = vec![Parameter::Memory; memories.len()];
        given.push(Parameter::Value(size_of::<Shape>()));
        assert_eq!(parameters(text, kernel.name()), Some(given), "{kernel:?}");
        let number = Kernel::ALL.iter().position(|&other| other == kernel).expect("listed");
        let head = [number, grid.n_blocks, grid.n_threads, grid.shared_bytes, memories.len()];
        let mut numbers: Vec<u64> = head.iter().map(|&number| number as u64).collect();
        numbers.extend(memories.iter().map(|memory| memory.number));
        let Shape { pull, push, n, first, n_nodes, salt, wide, slots, trial, last } = *shape;
        let longs = [pull, push].into_iter().flat_map(i64::to_le_bytes);
        let words = [n, first, n_nodes, salt, wide, slots, trial, last].into_iter().flat_map(u32::to_le_bytes);
        self.ends.borrow_mut().tell(2, &numbers, &longs.chain(words).collect::<Vec<u8>>());
        Ok(())
    }
}

/// The last levels go through the serial rules, which do not run here.
const SMALL: Limits = Limits { nodes_serial_max: 12, edges_serial_max: 1 << 21, nodes_few: 12 };
const QUALITIES: [Quality; 3] =
    [Quality::Modularity { resolution: 1.0 }, Quality::Cpm { gamma: 0.2 }, Quality::Cpm { gamma: 0.02 }];

fn check(program: &Program, order: u32, graph: &CsrGraph, settings: &LeidenSettings) {
    let here = partition(graph, settings, &SMALL).expect("fits").expect("cut");
    let card = OnCard(Emulated::start(program, order));
    let there = partition_on(&card, graph, settings, &SMALL).expect("fits").expect("cut");
    assert!(here == there, "order {order}, {settings:?}, {} nodes: the labels differ", graph.n());
    card.0.end();
}

/// A few nodes with very many neighbours among nodes with few.
fn hubs(n: u32, n_hubs: u32, seed: u64) -> CsrGraph {
    let mut random = Random(seed);
    let mut edges: Vec<_> = (n_hubs..n).map(|node| (node, node - n_hubs + 1, 9_000)).collect();
    for hub in 0..n_hubs {
        edges.extend((n_hubs..n).filter(|_| random.below(3) > 0).map(|node| (hub, node, 8_000)));
    }
    graph(n as usize, edges)
}

#[test]
fn the_source_holds_the_kernels_that_are_started() {
    let source = include_str!("../../gpu/coloured.cu");
    assert_eq!(source.matches("\nKERNEL(").count(), Kernel::ALL.len());
    for kernel in Kernel::ALL {
        assert!(source.contains(&format!("\nKERNEL({}, ", kernel.name())), "{kernel:?}");
    }
}

#[test]
fn an_emulated_card_finds_the_labels_of_the_processor() {
    let Some(program) = build("coloured", Flavour::Cuda) else { return };
    let mut random = Random(17);
    for case in 0..12_u32 {
        let n = 2 + random.below(250);
        let graph = planted(n, 2 + random.below(30), (n * (1 + random.below(8))) as usize, u64::from(case));
        let quality = QUALITIES[case as usize % 3];
        let settings = LeidenSettings { quality, seed: u64::from(case), rounds_max: 1 + case % 3 };
        check(&program, ORDERS[case as usize % 4], &graph, &settings);
    }
    for n in [0, 1, 40] {
        let settings = LeidenSettings { quality: QUALITIES[0], seed: 1, rounds_max: 2 };
        check(&program, 2, &CsrGraph::without_edges(n), &settings);
    }
}

#[test]
fn every_order_of_threads_gives_the_same_labels() {
    let Some(program) = build("coloured", Flavour::Cuda) else { return };
    let blocks = planted(400, 25, 2_400, 3);
    for quality in QUALITIES {
        for order in ORDERS {
            check(&program, order, &blocks, &LeidenSettings { quality, seed: 4, rounds_max: 2 });
        }
    }
}

#[test]
fn hubs_are_taken_by_blocks() {
    let Some(program) = build("coloured", Flavour::Cuda) else { return };
    let graph = hubs(700, 5, 8);
    assert!((0..5).all(|hub| graph.edges(hub).count() > 256));
    for (quality, order) in QUALITIES.into_iter().zip(ORDERS) {
        check(&program, order, &graph, &LeidenSettings { quality, seed: 4, rounds_max: 1 });
    }
}

#[test]
fn no_access_lies_outside_of_memory() {
    let Some(program) = build("coloured", Flavour::Sanitized) else { return };
    let graphs = [hubs(420, 3, 2), planted(200, 20, 1_200, 9)];
    for (graph, quality) in graphs.iter().zip(QUALITIES) {
        check(&program, 3, graph, &LeidenSettings { quality, seed: 4, rounds_max: 1 });
    }
}

#[test]
fn steps_with_weights_of_64_bits_are_those_of_the_processor() {
    let Some(program) = build("coloured", Flavour::Cuda) else { return };
    let fine = planted(150, 15, 900, 12);
    let rule = Rule::new(&fine, QUALITIES[0]).expect("fits");
    let mut level = Level::finest(&fine, true);
    level.weights = super::level::Weights::Long(level.long_weights());
    let card = OnCard(Emulated::start(&program, 1));
    let processor = Processor::new();
    let mut there = card.hold(&level, rule, 5).expect("held");
    let mut here = processor.hold(&level, rule, 5).expect("held");
    assert_eq!(there.n_classes(), here.n_classes());
    let labels: Vec<u32> = (0..150).collect();
    there.start_moving(&labels).expect("started");
    here.start_moving(&labels).expect("started");
    for class in 0..here.n_classes() {
        there.move_class(class).expect("moved");
        here.move_class(class).expect("moved");
    }
    let n_moved = here.n_moved().expect("counted");
    assert!(n_moved > 100);
    assert_eq!(there.n_moved().expect("counted"), n_moved);
    let labels = here.labels().expect("labels");
    assert_eq!(there.labels().expect("labels"), labels);
    there.start_refining(&labels).expect("started");
    here.start_refining(&labels).expect("started");
    for class in 0..here.n_classes() {
        there.refine_class(class).expect("refined");
        here.refine_class(class).expect("refined");
    }
    assert_eq!(there.parts().expect("parts"), here.parts().expect("parts"));
    drop(there);
    card.0.end();
}
