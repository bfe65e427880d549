//! The packed encoder against candle's stock BERT: the plain implementation is the oracle.

use std::fs;
use std::path::PathBuf;

use candle_core::{Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config, DTYPE};
use kernels::{Role, open_model};
use tokenizers::Tokenizer;

/// Two ways of summing 384 products in another order differ by far less.
const COSINE_MIN: f32 = 0.99999;

fn model_folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("STRATA_MODEL") {
        Some(folder) => PathBuf::from(folder),
        None => directories::BaseDirs::new()?.data_dir().join("strata/models/minilm"),
    };
    folder.join("model.safetensors").is_file().then_some(folder)
}

/// One text through candle's own model: mean of the last layer's rows, unit length.
fn stock_vector(model: &BertModel, ids: &[u32]) -> candle_core::Result<Vec<f32>> {
    let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
    let rows = model.forward(&ids, &ids.zeros_like()?, None)?;
    let mean = rows.mean(1)?.squeeze(0)?.to_vec1::<f32>()?;
    let length = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
    Ok(mean.into_iter().map(|x| x / length).collect())
}

#[test]
fn the_packed_encoder_equals_candles_stock_bert() {
    let Some(folder) = model_folder() else {
        println!("skipped: no model");
        return;
    };
    let config: Config = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    let weights = fs::read(folder.join("model.safetensors")).unwrap();
    let weights = VarBuilder::from_buffered_safetensors(weights, DTYPE, &Device::Cpu).unwrap();
    let stock = BertModel::load(weights, &config).unwrap();
    let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
    tokenizer.with_truncation(None).unwrap();
    tokenizer.with_padding(None);

    let long = "The tide tables for the harbour were printed in 1974 and nobody has corrected them since. ".repeat(9);
    let texts = ["a", "Is it? Yes!", "Grüße aus Kraków, naïve café", "猫が好きです。", &long];
    let packed = open_model(&folder, "cpu").unwrap().embed(&texts, Role::Passage).unwrap();
    for (row, text) in texts.iter().enumerate() {
        let encoding = tokenizer.encode(*text, true).unwrap();
        let expected = stock_vector(&stock, encoding.get_ids()).unwrap();
        let cosine: f32 = packed.row(row).iter().zip(&expected).map(|(a, b)| a * b).sum();
        assert!(cosine >= COSINE_MIN, "cosine {cosine} for {text:?}");
    }
}
