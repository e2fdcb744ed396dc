//! The programs as people run them, on small models.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use opforge::{Device, safetensors};
use opforge_examples::embedder::Embedder;
use opforge_examples::small;

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a program that ends well prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

const EMBEDDINGS: &str = env!("CARGO_BIN_EXE_embeddings");
const DECODER: &str = env!("CARGO_BIN_EXE_decoder");
const FINETUNE: &str = env!("CARGO_BIN_EXE_finetune");
const SMALL: &str = env!("CARGO_BIN_EXE_small");

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_line_is_found_by_itself_and_the_index_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (model, lines) = (folder.path().join("bert"), folder.path().join("lines.txt"));
    printed(SMALL, &["bert", path(&model)]);
    std::fs::write(&lines, format!("{}\n\nlast line\n", small::SENTENCES.join("\n"))).unwrap();
    let search = |query: &str| printed(EMBEDDINGS, &["search", path(&model), path(&lines), query, "-k", "2"]);
    let found = search(small::SENTENCES[4]);
    assert!(found.starts_with(&format!("1.0000  5: {}\n", small::SENTENCES[4])), "{found}");
    assert_eq!(found.lines().count(), 2);
    // Numbers are those of the text, whose ninth line is blank.
    assert!(search("last line").starts_with("1.0000  10: last line\n"));

    let kept = folder.path().join("lines.txt.index.safetensors");
    let made = std::fs::metadata(&kept).unwrap().modified().unwrap();
    search("oak");
    assert_eq!(std::fs::metadata(&kept).unwrap().modified().unwrap(), made, "nothing has changed");
    std::fs::write(&lines, "another text").unwrap();
    assert!(search("oak").contains("1: another text"));
}

#[test]
fn a_sentence_has_one_vector_in_every_batch() {
    let folder = tempfile::tempdir().unwrap();
    small::write_bert(folder.path(), &small::tiny_bert(), 1).unwrap();
    let mut embedder = Embedder::load(folder.path()).unwrap();
    let together = embedder.embed(&small::SENTENCES, 8, |_| ()).unwrap().to_vec2::<f32>().unwrap();
    for (sentence, row) in small::SENTENCES.iter().zip(&together) {
        let alone = embedder.embed(&[sentence], 1, |_| ()).unwrap().to_vec2::<f32>().unwrap();
        let difference = alone[0].iter().zip(row).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-6, "{sentence}: {difference}");
    }
}

#[test]
fn lines_that_are_too_long_are_errors_unless_they_are_to_be_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (model, lines, out) =
        (folder.path().join("bert"), folder.path().join("lines.txt"), folder.path().join("vectors.safetensors"));
    printed(SMALL, &["bert", path(&model)]);
    let long = "the boats lay at the harbour ".repeat(40);
    std::fs::write(&lines, format!("{long}one way\n{long}or another\nrain\n")).unwrap();
    let embed = ["embed", path(&model), path(&lines), "-o", path(&out)];
    let refused = run(EMBEDDINGS, &embed);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("tokens, the model takes 64; --truncate"), "{}", text(&refused.stderr));
    printed(EMBEDDINGS, &[&embed[..], &["--truncate"]].concat());
    let vectors = safetensors::load(&out, &Device::Cpu).unwrap().remove("embeddings").unwrap();
    let rows = vectors.to_vec2::<f32>().unwrap();
    assert_eq!(rows[0], rows[1]);
    assert_ne!(rows[0], rows[2]);
    // An index of lines that were cut is not taken for one of whole lines.
    let search = ["search", path(&model), path(&lines), "rain"];
    printed(EMBEDDINGS, &[&search[..], &["--truncate"]].concat());
    assert_eq!(run(EMBEDDINGS, &search).status.code(), Some(2));
}

#[test]
fn embed_writes_a_row_for_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let (model, lines, out) =
        (folder.path().join("bert"), folder.path().join("lines.txt"), folder.path().join("vectors.safetensors"));
    printed(SMALL, &["bert", path(&model)]);
    std::fs::write(&lines, small::SENTENCES.join("\n")).unwrap();
    printed(EMBEDDINGS, &["embed", path(&model), path(&lines), "-o", path(&out), "--batch", "3"]);
    let vectors = safetensors::load(&out, &Device::Cpu).unwrap().remove("embeddings").unwrap();
    assert_eq!(vectors.dims(), [8, 32]);
    for row in vectors.to_vec2::<f32>().unwrap() {
        assert!((row.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn texts_go_on_alike_for_equal_seeds_and_at_temperature_0() {
    let folder = tempfile::tempdir().unwrap();
    let (model, gguf) = (folder.path().join("llama"), folder.path().join("model.gguf"));
    printed(SMALL, &["llama", path(&model)]);
    printed(SMALL, &["gguf", path(&gguf)]);
    let tokenizer = folder.path().join("tokenizer.json");
    for arguments in [vec![path(&model)], vec![path(&gguf), "--tokenizer", path(&tokenizer)]] {
        let go_on = |more: &[&str]| {
            let all = [&arguments[..1], &["the rain"], &arguments[1..], &["--max-new-tokens", "24"], more].concat();
            printed(DECODER, &all)
        };
        assert!(go_on(&["--temperature", "0"]).starts_with("the rain"));
        assert_eq!(go_on(&["--temperature", "0"]), go_on(&["--temperature", "0", "--seed", "9"]));
        assert_eq!(go_on(&["--temperature", "0"]), go_on(&["--top-k", "1"]));
        let drawn = go_on(&["--seed", "3", "--temperature", "1.5"]);
        assert_eq!(drawn, go_on(&["--seed", "3", "--temperature", "1.5"]));
        assert_ne!(drawn, go_on(&["--seed", "4", "--temperature", "1.5"]));
    }
}

#[test]
fn small_models_are_the_same_files_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["bert", "llama"] {
        let (one, other) = (folder.path().join(format!("{kind} 1")), folder.path().join(format!("{kind} 2")));
        printed(SMALL, &[kind, path(&one)]);
        printed(SMALL, &[kind, path(&other)]);
        for file in ["config.json", "model.safetensors", "tokenizer.json"] {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
            assert!(read(&one) == read(&other), "{kind}: another {file}");
        }
    }
}

fn examples(folder: &Path) -> String {
    let line = |i: usize| match i % 2 {
        0 => format!("food\tbread and butter and soup number {i}\n"),
        _ => format!("sea\tthe boats at the harbour of pier {i}\n"),
    };
    let file = folder.join("examples.tsv");
    std::fs::write(&file, (0..60).map(line).collect::<String>()).unwrap();
    path(&file).to_owned()
}

/// Trains to the end once, and once with a kill in the middle; the weights are the same.
fn killed_and_resumed(more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (model, whole, killed) =
        (folder.path().join("bert"), folder.path().join("whole"), folder.path().join("killed"));
    printed(SMALL, &["bert", path(&model)]);
    let examples = examples(folder.path());
    let arguments = |out: &Path, more: &[&str]| -> Vec<String> {
        let fixed = ["train", path(&model), &examples, path(out), "--batch", "4", "--every", "5"];
        fixed.iter().chain(more).map(|&word| word.to_owned()).collect()
    };
    let said = Command::new(FINETUNE).args(arguments(&whole, more)).output().unwrap();
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(text(&said.stdout).contains("knows 100.0 %"), "{}", text(&said.stdout));

    let mut child = Command::new(FINETUNE).args(arguments(&killed, more)).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !killed.join("checkpoint.safetensors").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = Command::new(FINETUNE).args(arguments(&killed, &[more, &["--resume"]].concat())).output().unwrap();
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let weights = |out: &Path| std::fs::read(out.join("weights.safetensors")).unwrap();
    assert!(weights(&whole) == weights(&killed), "another end after the kill");

    let unfreeze = if more.contains(&"--unfreeze") { &["--unfreeze"][..] } else { &[] };
    let apply = [&["apply", path(&model), path(&whole), "bread and butter and soup number 4"], unfreeze].concat();
    assert!(printed(FINETUNE, &apply).lines().next().unwrap().ends_with("food"));
}

#[test]
fn a_killed_training_goes_on_to_the_same_weights() {
    killed_and_resumed(&["--epochs", "20"]);
}

#[test]
fn so_does_one_of_the_whole_model() {
    killed_and_resumed(&["--epochs", "8", "--unfreeze", "--lr", "0.002"]);
}

#[test]
fn errors_are_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let (model, empty, none) =
        (folder.path().join("bert"), folder.path().join("empty.txt"), folder.path().join("none"));
    small::write_bert(&model, &small::tiny_bert(), 0).unwrap();
    std::fs::write(&empty, "\n \n").unwrap();
    let broken = folder.path().join("broken");
    small::write_bert(&broken, &small::tiny_bert(), 0).unwrap();
    let config = std::fs::read_to_string(broken.join("config.json")).unwrap();
    let expect = |program: &str, arguments: &[&str], words: &[&str]| {
        let output = run(program, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "no {word:?} in {said}"));
    };
    expect(EMBEDDINGS, &["search", path(&none), path(&empty), "x"], &["none", "no folder"]);
    expect(EMBEDDINGS, &["search", path(&model), path(&none), "x"], &["reading", "none"]);
    expect(EMBEDDINGS, &["embed", path(&model), path(&empty)], &["empty.txt has no lines"]);
    std::fs::write(broken.join("config.json"), config.replace("\"hidden_size\": 32", "\"hidden_size\": 64")).unwrap();
    expect(EMBEDDINGS, &["search", path(&broken), path(&empty), "x"], &["embeddings", "[300, 32]", "[300, 64]"]);
    std::fs::write(broken.join("config.json"), config.replace("gelu", "cubic")).unwrap();
    expect(EMBEDDINGS, &["search", path(&broken), path(&empty), "x"], &["hidden_act", "cubic"]);
    std::fs::write(broken.join("config.json"), &config).unwrap();
    std::fs::create_dir(broken.join("1_Pooling")).unwrap();
    std::fs::write(broken.join("1_Pooling/config.json"), r#"{"pooling_mode_weightedmean_tokens": true}"#).unwrap();
    expect(EMBEDDINGS, &["search", path(&broken), path(&empty), "x"], &["pooling"]);
    expect(DECODER, &[path(&empty), "x"], &["empty.txt"]);
    expect(DECODER, &[path(&model), "x", "--temperature=-1"], &["temperature"]);
    expect(
        FINETUNE,
        &["train", path(&model), path(&model.join("config.json")), path(&none)],
        &["config.json:1", "no tab"],
    );
    expect(
        FINETUNE,
        &["train", path(&model), &examples(folder.path()), path(&none), "--resume"],
        &["checkpoint.safetensors"],
    );
}
