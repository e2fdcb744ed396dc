//! The macros that declare functions.

/// Declares a function once: emits it as written, and beside it `FUNCTION`, its signature as data.
///
/// `#[python(faces)] #[view] pub fn name(a: T, b: U = default; keyword_only: V = default) -> Result<R> { .. }`
///
/// `#[view]` says that a result may share memory with an argument. Results of all others never do.
///
/// The documentation may be text that a macro makes: `#[doc = concat!(..)]`. Without `#[python(..)]` the faces are those of [`Function::faces`](crate::operator::Function::faces).
#[macro_export]
macro_rules! function {
    (
        $(#[doc = $doc:expr])*
        $(#[python($($faces:tt)*)])?
        $(#[view $($view:lifetime)?])?
        pub fn $name:ident($($params:tt)*) -> Result<$ret:ty> $body:block
    ) => {
        $crate::function!(@define [$($doc),*] $name ($($params)*) [$ret] $body);

        #[doc = concat!("The signature of [`", stringify!($name), "`](fn@", stringify!($name), ") as data.")]
        pub const FUNCTION: $crate::operator::Function =
            $crate::function!(@signature [$($doc),*] [$(($($faces)*))?] [$(view $($view)?)?] $name ($($params)*) [$ret]);
    };
    (@define [$($doc:expr),*] $name:ident (
        $($arg:ident: $ty:ty $(= $default:expr)?),* $(,)?
        $(; $($kw:ident: $kw_ty:ty $(= $kw_default:expr)?),* $(,)?)?
    ) [$ret:ty] $body:block) => {
        $(#[doc = $doc])*
        #[allow(clippy::too_many_arguments)]
        #[track_caller]
        pub fn $name($($arg: $ty,)* $($($kw: $kw_ty,)*)?) -> $crate::Result<$ret> $body
    };
    (@signature [$($doc:expr),*] [$($faces:tt)?] [$($view:ident)?] $name:ident (
        $($arg:ident: $ty:ty $(= $default:expr)?),* $(,)?
        $(; $($kw:ident: $kw_ty:ty $(= $kw_default:expr)?),* $(,)?)?
    ) [$ret:ty]) => {
        $crate::operator::Function {
            name: stringify!($name),
            module: module_path!(),
            doc: concat!($($doc, "\n"),*),
            params: &[
                $($crate::function!(@param $arg, $ty, false $(, $default)?),)*
                $($($crate::function!(@param $kw, $kw_ty, true $(, $kw_default)?),)*)?
            ],
            returns: stringify!($ret),
            declared_faces: $crate::function!(@faces $($faces)?),
            view: $crate::function!(@view $($view)?),
            call: &|values| {
                #[allow(unused_mut)]
                let mut values = values.iter();
                $name(
                    $($crate::operator::Argument::take(stringify!($name), stringify!($arg), values.next())?,)*
                    $($($crate::operator::Argument::take(stringify!($name), stringify!($kw), values.next())?,)*)?
                ).map(Into::into)
            },
        }
    };
    (@param $arg:ident, $ty:ty, $keyword_only:literal $(, $default:expr)?) => {
        $crate::operator::Param {
            name: stringify!($arg),
            ty: <$ty as $crate::operator::Argument>::TYPE,
            default: $crate::function!(@default $ty $(, $default)?),
            keyword_only: $keyword_only,
        }
    };
    (@default $ty:ty) => { None };
    (@default $ty:ty, $default:expr) => {
        Some($crate::operator::Default {
            text: stringify!($default),
            value: &|| <$ty as $crate::operator::Argument>::into_value($default),
        })
    };
    (@view) => { false };
    (@view view) => { true };
    (@faces) => { None };
    (@faces ($($key:ident $(= $value:literal)? $(($($field:ident),*))?),* $(,)?)) => {{
        let mut faces = $crate::operator::Faces::NOWHERE;
        $($crate::function!(@face faces $key $(= $value)? $(($($field),*))?);)*
        Some(faces)
    }};
    (@face $faces:ident name = $value:literal) => { $faces.name = Some($value) };
    (@face $faces:ident results($($field:ident),*)) => { $faces.results = &[$(stringify!($field)),*] };
    (@face $faces:ident $key:ident) => { $faces.$key = true };
}

/// Declares the functions of a file of compositions as [`function!`] declares one; `FUNCTIONS` lists their signatures in order.
#[macro_export]
macro_rules! functions {
    ($(
        $(#[doc = $doc:expr])*
        $(#[python($($faces:tt)*)])?
        $(#[view $($view:lifetime)?])?
        pub fn $name:ident($($params:tt)*) -> Result<$ret:ty> $body:block
    )*) => {
        $($crate::function!(@define [$($doc),*] $name ($($params)*) [$ret] $body);)*

        /// The signatures of this file's functions as data.
        pub static FUNCTIONS: &[$crate::operator::Function] = &[
            $($crate::function!(@signature [$($doc),*] [$(($($faces)*))?] [$(view $($view)?)?] $name ($($params)*) [$ret])),*
        ];
    };
}
