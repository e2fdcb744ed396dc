//! Every operator of the registry against every check.

#[macro_use]
mod common;

macro_rules! suite {
    ($($name:ident => $check:path;)*) => {
        $(#[test]
        fn $name() {
            common::check_all($check);
        })*
    };
}

each_check!(suite);
