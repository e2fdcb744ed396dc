//! Every operator of the registry against every check.

use opforge::declaration::Content;

macro_rules! suite {
    ($($name:ident => $check:path;)*) => {
        $(#[test]
        fn $name() {
            crate::common::check_all($check);
        })*
    };
}

each_check!(suite);

#[test]
fn every_operator_has_its_own_name_dtypes_and_samples() {
    let registry = opforge::registry::operators();
    for (i, definition) in registry.iter().enumerate() {
        let name = definition.name;
        assert!(registry[..i].iter().all(|other| other.name != name), "{name} is there twice");
        assert!(definition.dtypes.iter().next().is_some(), "{name} takes no dtype");
        assert!(!(definition.samples)().is_empty(), "{name} has no sample");
        assert!(!definition.function.doc.is_empty(), "{name} is not documented");
        // A composition has the gradients of its parts.
        let differentiable = (definition.samples)().iter().any(|sample| {
            sample.inputs.iter().any(|input| input.content == Content::Real)
                && sample.operator().is_none_or(|operator| operator.differentiable())
        });
        assert_eq!(definition.differentiable, differentiable, "whether {name} has a gradient");
    }
}
