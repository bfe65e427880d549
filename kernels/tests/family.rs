//! The BERT family: every folder that the loader knows against candle's stock BERT, and what it refuses.

mod tiny;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device as CandleDevice, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use kernels::{Embedder, Precision, Role, open_model, open_model_in};
use serde_json::json;
use tokenizers::Tokenizer;

use tiny::{Tiny, WINDOW, texts, write};

/// Sums in another order, and the tanh form of candle against ours.
const COSINE_MIN: f32 = 0.999_99;
/// What 11 binary digits are good for, through two layers.
const COSINE_HALF_MIN: f32 = 0.999;

fn open(folder: &Path) -> Box<dyn Embedder> {
    open_model(folder, "cpu").expect("a usable model")
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Candle's own model on the same values: one text at a time, no packing.
fn stock_vectors(model: Tiny, folder: &Path, texts: &[String], prompt: &str) -> Vec<Vec<f32>> {
    let mut config = model.config();
    config["hidden_act"] = json!(if model.act == "gelu" { "gelu" } else { "geluapproximate" });
    let config: Config = serde_json::from_value(config).expect("a config");
    let plain = Tiny { prefix: "", norm_names: ["weight", "bias"], ..model };
    let tensors: HashMap<String, Tensor> = plain.tensors().into_iter().collect();
    let weights = VarBuilder::from_tensors(tensors, DType::F32, &CandleDevice::Cpu);
    let stock = BertModel::load(weights, &config).expect("a model");
    let tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).expect("a tokenizer");
    let vector = |text: &String| {
        let encoding = tokenizer.encode(format!("{prompt}{text}"), true).expect("tokens");
        let ids = Tensor::new(encoding.get_ids(), &CandleDevice::Cpu)?.unsqueeze(0)?;
        let rows = stock.forward(&ids, &ids.zeros_like()?, None)?.squeeze(0)?;
        let pooled = if model.pooling == "cls" { rows.get(0)? } else { rows.mean(0)? };
        let pooled = pooled.to_vec1::<f32>()?;
        let length = pooled.iter().map(|x| x * x).sum::<f32>().sqrt();
        Ok::<_, candle_core::Error>(pooled.into_iter().map(|x| x / length).collect())
    };
    texts.iter().map(vector).collect::<Result<_, _>>().expect("vectors")
}

/// Embeds with ours and with candle's, and gives the lowest cosine.
fn check(model: Tiny) -> f32 {
    let folder = tempfile::tempdir().expect("a folder");
    model.write(folder.path());
    let texts = texts();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ours = open(folder.path()).embed(&borrowed, Role::Passage).expect("they fit");
    let theirs = stock_vectors(model, folder.path(), &texts, "");
    let cosines = theirs.iter().enumerate().map(|(row, theirs)| cosine(ours.row(row), theirs));
    cosines.fold(1.0, f32::min)
}

#[test]
fn every_shape_equals_the_stock_bert() {
    let standard = Tiny::STANDARD;
    let models = [
        ("standard", standard),
        ("cls", Tiny { pooling: "cls", ..standard }),
        ("odd sizes", Tiny { hidden: 35, intermediate: 27, heads: 5, ..standard }),
        ("one head", Tiny { hidden: 40, heads: 1, ..standard }),
        ("wide", Tiny { intermediate: 1_000, layers: 1, ..standard }),
        ("tanh", Tiny { act: "gelu_new", ..standard }),
        ("epsilon", Tiny { epsilon: 0.1, ..standard }),
        ("prefix", Tiny { prefix: "bert.", ..standard }),
        ("old norms", Tiny { norm_names: ["gamma", "beta"], ..standard }),
        ("f16", Tiny { dtype: DType::F16, ..standard }),
        ("bf16", Tiny { dtype: DType::BF16, ..standard }),
        ("shards", Tiny { n_shards: 3, prefix: "bert.", ..standard }),
    ];
    for (name, model) in models {
        let worst = check(model);
        println!("{name}: lowest cosine {worst:.7}");
        assert!(worst >= COSINE_MIN, "{name}: {worst}");
    }
}

#[test]
fn a_wrong_variant_is_another_vector() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = texts();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    Tiny::STANDARD.write(folder.path());
    let mean = open(folder.path()).embed(&borrowed, Role::Passage).expect("they fit");
    for other in [Tiny { pooling: "cls", ..Tiny::STANDARD }, Tiny { epsilon: 0.1, ..Tiny::STANDARD }] {
        let theirs = stock_vectors(other, folder.path(), &texts, "");
        assert!(theirs.iter().enumerate().any(|(row, theirs)| cosine(mean.row(row), theirs) < COSINE_MIN));
    }
}

#[test]
fn half_precision_is_close_and_in_the_order_of_the_texts() {
    for model in [Tiny::STANDARD, Tiny { pooling: "cls", act: "gelu_new", ..Tiny::STANDARD }] {
        let folder = tempfile::tempdir().expect("a folder");
        model.write(folder.path());
        let texts = texts();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ours = open(folder.path()).embed(&borrowed, Role::Passage).expect("they fit");
        let half = open_model_in(folder.path(), "cpu", Precision::F16).expect("candle's processor has f16");
        let half = half.embed(&borrowed, Role::Passage).expect("they fit");
        for (row, text) in texts.iter().enumerate() {
            let same = cosine(ours.row(row), half.row(row));
            assert!(same >= COSINE_HALF_MIN, "{same} {text}");
        }
        assert_ne!(ours, half, "half precision was not used");
    }
}

#[test]
fn a_card_that_is_not_there_is_said_to_be_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    Tiny::STANDARD.write(folder.path());
    for device in ["cuda:99", "metal:99"] {
        let error = open_model(folder.path(), device).err().expect("no such card");
        assert!(matches!(error, kernels::Error::Missing { .. }), "{error}");
        assert!(error.to_string().contains(device), "{error}");
    }
    assert!(open_model(folder.path(), "auto").is_ok());
}

#[test]
fn prompts_come_from_the_folder_or_the_family() {
    let root = tempfile::tempdir().expect("a folder");
    let prompts = |name: &str, files: &[(&str, serde_json::Value)]| {
        let folder = root.path().join(name);
        fs::create_dir_all(&folder).expect("writable");
        Tiny::STANDARD.write(&folder);
        files.iter().for_each(|(file, value)| write(&folder, file, value));
        let id = open(&folder).id().clone();
        (id.query_prompt, id.passage_prompt)
    };
    let pair = |query: &str, passage: &str| (query.to_owned(), passage.to_owned());
    assert_eq!(prompts("gte-small", &[]), pair("", ""));
    assert_eq!(prompts("e5-small-v2", &[]), pair("query: ", "passage: "));
    assert!(prompts("bge-small-en-v1.5", &[]).0.starts_with("Represent this sentence"));
    let theirs = |query, document| {
        ("config_sentence_transformers.json", json!({"prompts": {"query": query, "document": document}}))
    };
    assert_eq!(prompts("e5-base", &[theirs("", "")]), pair("query: ", "passage: "));
    assert_eq!(prompts("e5-large", &[theirs("q: ", "d: ")]), pair("q: ", "d: "));
    let ours = ("strata.json", json!({"query_prompt": "", "passage_prompt": "p "}));
    assert_eq!(prompts("e5-small", &[theirs("q: ", "d: "), ours]), pair("", "p "));
}

#[test]
fn a_prompt_stands_before_the_text() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("e5-base");
    fs::create_dir(&folder).expect("writable");
    Tiny::STANDARD.write(&folder);
    let texts = vec!["abc".to_owned(), "the sea".to_owned()];
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (role, prompt) in [(Role::Query, "query: "), (Role::Passage, "passage: ")] {
        let ours = open(&folder).embed(&borrowed, role).expect("they fit");
        let theirs = stock_vectors(Tiny::STANDARD, &folder, &texts, prompt);
        for (row, theirs) in theirs.iter().enumerate() {
            assert!(cosine(ours.row(row), theirs) >= COSINE_MIN);
        }
    }
}

#[test]
fn the_newer_names_of_pooling_and_modules_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    Tiny::STANDARD.write(folder.path());
    let kind = |name: &str| format!("sentence_transformers.models.{name}");
    let modules = json!([
        {"idx": 0, "name": "0", "path": "", "type": kind("Transformer")},
        {"idx": 1, "name": "1", "path": "pool", "type": kind("Pooling")},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": kind("Normalize")},
    ]);
    write(folder.path(), "modules.json", &modules);
    fs::create_dir(folder.path().join("pool")).expect("writable");
    write(folder.path(), "pool/config.json", &json!({"pooling_mode": "cls", "include_prompt": true}));
    write(folder.path(), "sentence_bert_config.json", &json!({"max_seq_length": 150, "do_lower_case": true}));
    let id = open(folder.path()).id().clone();
    assert_eq!((id.pooling.as_str(), id.window), ("cls", 150));
}

#[test]
fn what_is_not_supported_is_refused_by_file_and_field() {
    let refused = |file: &str, value: serde_json::Value, said: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        Tiny::STANDARD.write(folder.path());
        assert!(open_model(folder.path(), "cpu").is_ok());
        write(folder.path(), file, &value);
        let error = open_model(folder.path(), "cpu").err().unwrap_or_else(|| panic!("{file} {value}"));
        assert!(matches!(error, kernels::Error::Model { .. }), "{error}");
        for part in said.iter().chain([&file]) {
            assert!(error.to_string().contains(part), "{error}: {part}");
        }
    };
    let with = |field: &str, value: serde_json::Value| {
        let mut config = Tiny::STANDARD.config();
        config[field] = value;
        config
    };
    let config = "config.json";
    refused(config, with("model_type", json!("xlm-roberta")), &["model_type", "xlm-roberta"]);
    refused(config, with("hidden_act", json!("relu")), &["hidden_act", "relu"]);
    refused(config, with("position_embedding_type", json!("relative_key")), &["position_embedding_type"]);
    refused(config, with("num_attention_heads", json!(5)), &["num_attention_heads"]);
    refused(config, with("num_hidden_layers", json!(0)), &["num_hidden_layers"]);
    refused(config, with("is_decoder", json!(true)), &["is_decoder"]);
    refused(config, with("max_position_embeddings", json!(20)), &["window"]);
    refused("1_Pooling/config.json", json!({"pooling_mode_max_tokens": true}), &["pooling_mode"]);
    refused("1_Pooling/config.json", json!({"pooling_mode": "lasttoken"}), &["pooling_mode"]);
    refused("1_Pooling/config.json", json!({"pooling_mode": "mean", "include_prompt": false}), &["include_prompt"]);
    let dense = json!([{"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"}]);
    refused("modules.json", dense, &["Dense"]);
    refused("strata.json", json!({"prompt": ""}), &["prompt"]);
}

#[test]
fn tensors_that_do_not_fit_are_refused_by_name() {
    let said = |change: &dyn Fn(&mut HashMap<String, Tensor>)| {
        let folder = tempfile::tempdir().expect("a folder");
        Tiny::STANDARD.write(folder.path());
        let mut tensors: HashMap<String, Tensor> = Tiny::STANDARD.tensors().into_iter().collect();
        change(&mut tensors);
        candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).expect("writable");
        open_model(folder.path(), "cpu").err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(said(&|_| ()), "");
    let name = "encoder.layer.1.output.dense.bias";
    assert!(said(&|tensors| drop(tensors.remove(name))).contains(name));
    let put = |tensor: candle_core::Result<Tensor>| {
        let tensor = tensor.expect("a tensor");
        said(&|tensors| drop(tensors.insert(name.to_owned(), tensor.clone())))
    };
    assert!(put(Tensor::zeros(47, DType::F32, &CandleDevice::Cpu)).contains("has shape [47], not [48]"));
    assert!(put(Tensor::zeros(48, DType::U8, &CandleDevice::Cpu)).contains("of type u8"));
    assert!(put(Tensor::full(f32::NAN, 48, &CandleDevice::Cpu)).contains("not finite"));
}

#[test]
fn an_index_names_files_of_its_folder_only() {
    let model = Tiny { n_shards: 2, ..Tiny::STANDARD };
    let folder = tempfile::tempdir().expect("a folder");
    model.write(folder.path());
    let digest = open(folder.path()).id().digest.clone();
    assert_eq!(digest.len(), 64);
    for stray in ["../model.safetensors", "/etc/passwd", "weights.bin"] {
        let index = json!({"weight_map": {"embeddings.word_embeddings.weight": stray}});
        write(folder.path(), "model.safetensors.index.json", &index);
        let error = open_model(folder.path(), "cpu").err().expect("not beside it").to_string();
        assert!(error.contains("weight_map") && error.contains(stray), "{error}");
    }
}

#[test]
fn a_vector_depends_neither_on_company_nor_on_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    Tiny { hidden: 35, intermediate: 801, heads: 5, ..Tiny::STANDARD }.write(folder.path());
    let model = open(folder.path());
    let texts = texts();
    let many: Vec<&str> = (0..8).flat_map(|_| texts.iter().map(String::as_str)).collect();
    let embed = |n_threads: usize, texts: &[&str]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
        pool.install(|| model.embed(texts, Role::Passage).expect("they fit"))
    };
    let one = embed(1, &many);
    for n_threads in [2, 3, 8] {
        assert_eq!(one, embed(n_threads, &many), "{n_threads} threads");
    }
    for (row, &text) in many.iter().take(texts.len()).enumerate() {
        assert_eq!(one.row(row), embed(1, &[text]).row(0), "alone");
        assert_eq!(one.row(row), embed(4, &[text]).row(0), "alone, on four threads");
        assert_eq!(one.row(row), one.row(row + texts.len()), "twice in one call");
    }
}

#[test]
fn the_longest_text_fills_the_window() {
    let folder = tempfile::tempdir().expect("a folder");
    Tiny::STANDARD.write(folder.path());
    let model = open(folder.path());
    let full = "a ".repeat(WINDOW - 2);
    assert!(model.embed(&[&full], Role::Passage).is_ok());
    assert!(model.embed(&[&format!("{full}a")], Role::Passage).is_err());
}
