use std::path::Path;

use opforge_core::ErrorKind;
use opforge_custom::source::{Flavour, Language, Settings, Source};

#[test]
fn the_last_colon_separates() {
    let source: Source = "C:/odd:path/add.cc:CustomAdd2".parse().unwrap();
    assert_eq!((source.path.as_path(), source.function.as_str()), (Path::new("C:/odd:path/add.cc"), "CustomAdd2"));
    for text in ["", "add.cc", "add.cc:", ":Add", "add.cc:2x", "add.cc:a b", "add.cc:Ädd"] {
        let error = text.parse::<Source>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value, "{text}");
        assert!(error.to_string().contains(&format!("{text:?}")) && error.to_string().contains("path:Name"), "{error}");
    }
}

#[test]
fn suffixes_name_languages() {
    let cases = [
        ("k.c", Some(Language::C)),
        ("k.cxx", Some(Language::Cpp)),
        ("k.cu", Some(Language::Cuda)),
        ("k.so", None),
        ("cc", None),
    ];
    for (path, language) in cases {
        assert_eq!(Language::of(Path::new(path)), language, "{path}");
    }
}

#[test]
fn settings_are_read_from_the_environment() {
    let settings = |pairs: &[(&str, &str)]| {
        Settings::from(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    };
    let plain = settings(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "relative"), ("CXX", "")]).unwrap();
    assert_eq!(plain.user_cache.as_deref(), Some(Path::new("/home/u/.cache")));
    assert_eq!((plain.allow.len(), plain.cxx.clone(), plain.forbid_compiling), (0, None, false));

    let full = settings(&[
        ("XDG_CACHE_HOME", "/caches"),
        ("OPFORGE_CUSTOM_ALLOW", ""),
        ("OPFORGE_CUSTOM_COMPILE", "0"),
        ("OPFORGE_CUSTOM_FLAGS", "MindSpore"),
        ("CPATH", "/inc"),
    ])
    .unwrap();
    assert_eq!(full.user_cache.as_deref(), Some(Path::new("/caches")));
    assert_eq!(full.allow, [("OPFORGE_CUSTOM_ALLOW", "".into())]);
    assert_eq!(full.implicit, [("CPATH", "/inc".into())]);
    assert!(full.forbid_compiling && full.flavour == Flavour::MindSpore);

    let error = settings(&[("OPFORGE_CUSTOM_COMPILE", "false")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("OPFORGE_CUSTOM_COMPILE, ") || error.to_string().contains("false"), "{error}");
}
