//! Small BERTs with random weights, written as model folders: every shape that the loader knows, none of them real.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

/// A folder to write; start from [`Tiny::STANDARD`].
#[derive(Clone, Copy)]
pub struct Tiny {
    pub hidden: usize,
    pub intermediate: usize,
    pub heads: usize,
    pub layers: usize,
    /// `hidden_act` of `config.json`.
    pub act: &'static str,
    pub epsilon: f64,
    /// Put before every tensor's name.
    pub prefix: &'static str,
    /// How the parts of a norm are called.
    pub norm_names: [&'static str; 2],
    pub dtype: DType,
    /// Files that the weights are spread over; 1 has no index.
    pub n_shards: usize,
    /// "mean" or "cls".
    pub pooling: &'static str,
}

/// Tokens that a text may have in all.
pub const WINDOW: usize = 240;
/// Pieces that are no words; words are "a" to "z" and their continuations.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

impl Tiny {
    pub const STANDARD: Self = Self {
        hidden: 48,
        intermediate: 100,
        heads: 4,
        layers: 2,
        act: "gelu",
        epsilon: 1e-12,
        prefix: "",
        norm_names: ["weight", "bias"],
        dtype: DType::F32,
        n_shards: 1,
        pooling: "mean",
    };

    pub fn vocabulary() -> Vec<String> {
        let letters = || ('a'..='z').map(String::from);
        let words = letters().chain(letters().map(|letter| format!("##{letter}")));
        SPECIAL.iter().map(|&piece| piece.to_owned()).chain(words).collect()
    }

    /// `config.json`.
    pub fn config(&self) -> Value {
        json!({
            "model_type": "bert", "hidden_size": self.hidden, "intermediate_size": self.intermediate,
            "num_attention_heads": self.heads, "num_hidden_layers": self.layers, "hidden_act": self.act,
            "layer_norm_eps": self.epsilon, "max_position_embeddings": WINDOW, "type_vocab_size": 2,
            "vocab_size": Self::vocabulary().len(), "hidden_dropout_prob": 0.1, "initializer_range": 0.02,
            "pad_token_id": 0, "position_embedding_type": "absolute",
        })
    }

    /// Writes the folder.
    pub fn write(&self, folder: &Path) {
        write(folder, "config.json", &self.config());
        write(folder, "tokenizer.json", &tokenizer());
        write(folder, "tokenizer_config.json", &json!({"model_max_length": WINDOW}));
        let mean = self.pooling == "mean";
        let pooling = json!({"pooling_mode_mean_tokens": mean, "pooling_mode_cls_token": !mean});
        fs::create_dir_all(folder.join("1_Pooling")).expect("writable");
        write(folder, "1_Pooling/config.json", &pooling);
        let tensors = self.tensors();
        let name = |shard: usize| match self.n_shards {
            1 => "model.safetensors".to_owned(),
            n => format!("model-{:05}-of-{n:05}.safetensors", shard + 1),
        };
        let mut places = serde_json::Map::new();
        for shard in 0..self.n_shards {
            let mine = tensors.iter().enumerate().filter(|(idx, _)| idx % self.n_shards == shard);
            let mine: HashMap<String, Tensor> = mine.map(|(_, tensor)| tensor.clone()).collect();
            places.extend(mine.keys().map(|tensor| (tensor.clone(), json!(name(shard)))));
            candle_core::safetensors::save(&mine, folder.join(name(shard))).expect("writable");
        }
        if self.n_shards > 1 {
            write(folder, "model.safetensors.index.json", &json!({"metadata": {}, "weight_map": places}));
        }
    }

    /// Every tensor of the model, in the type that it is written in.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        let (hidden, wide) = (self.hidden, self.intermediate);
        let mut shapes: Vec<(String, Vec<usize>)> = vec![
            ("embeddings.word_embeddings.weight".to_owned(), vec![Self::vocabulary().len(), hidden]),
            ("embeddings.position_embeddings.weight".to_owned(), vec![WINDOW, hidden]),
            ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, hidden]),
        ];
        let norm = |name: &str| self.norm_names.map(|part| (format!("{name}.LayerNorm.{part}"), vec![hidden]));
        let linear = |name: &str, from: usize, to: usize| {
            [(format!("{name}.weight"), vec![to, from]), (format!("{name}.bias"), vec![to])]
        };
        shapes.extend(norm("embeddings"));
        for layer in 0..self.layers {
            let name = format!("encoder.layer.{layer}");
            for part in ["query", "key", "value"] {
                shapes.extend(linear(&format!("{name}.attention.self.{part}"), hidden, hidden));
            }
            shapes.extend(linear(&format!("{name}.attention.output.dense"), hidden, hidden));
            shapes.extend(norm(&format!("{name}.attention.output")));
            shapes.extend(linear(&format!("{name}.intermediate.dense"), hidden, wide));
            shapes.extend(linear(&format!("{name}.output.dense"), wide, hidden));
            shapes.extend(norm(&format!("{name}.output")));
        }
        let mut state = 1_u64;
        let tensors = shapes.into_iter().map(|(name, shape)| {
            let scales = name.ends_with("LayerNorm.weight") || name.ends_with("gamma");
            let around = if scales { 1.0 } else { 0.0 };
            let spread = if shape.len() == 2 { 2.0 / (shape[1] as f32).sqrt() } else { 0.3 };
            let values = (0..shape.iter().product::<usize>()).map(|_| around + spread * random(&mut state)).collect();
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu).and_then(|tensor| tensor.to_dtype(self.dtype));
            (format!("{}{name}", self.prefix), tensor.expect("a tensor"))
        });
        tensors.collect()
    }
}

/// Writes one file of a folder.
pub fn write(folder: &Path, name: &str, value: &Value) {
    fs::write(folder.join(name), value.to_string()).expect("writable");
}

/// Texts of 1 to `WINDOW` tokens, special ones not counted beyond that.
pub fn texts() -> Vec<String> {
    let word = |n: usize| (0..n).map(|at| char::from(b'a' + ((at * 7 + n * 3) % 26) as u8)).collect::<String>();
    let lens = [1, 2, 5, 13, 14, 15, 16, 29, 30, 31, 33, 62, 64, 90, 100];
    lens.into_iter().map(word).chain([format!("{} {}", word(90), word(60)), String::new()]).collect()
}

/// `tokenizer.json`: word pieces, lower case.
fn tokenizer() -> Value {
    let vocabulary = Tiny::vocabulary();
    let id = |piece: &str| vocabulary.iter().position(|other| other == piece);
    let special: Vec<Value> = SPECIAL
        .iter()
        .map(|&piece| {
            json!({"id": id(piece), "content": piece, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true})
        })
        .collect();
    let pieces: serde_json::Map<String, Value> =
        vocabulary.iter().enumerate().map(|(id, piece)| (piece.clone(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", id("[SEP]")], "cls": ["[CLS]", id("[CLS]")]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": pieces},
    })
}

/// Uniform in `[-1, 1)`.
fn random(state: &mut u64) -> f32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 40) as f32 / (1 << 23) as f32 - 1.0
}
