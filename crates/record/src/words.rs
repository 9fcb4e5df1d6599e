//! Words of a command line that a folder may not give: programs, files, addresses, secrets.
//!
//! Experiment folders are handed on. Rejected: checking a folder's values where they are used,
//! since a use that forgets the check runs somebody else's program (decision 0045).

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::server_kind::ServerKind;
use base::error::{Error, Result};
use base::secrets::mask_text;
use workload::builtin::BUILTINS;

const SECRET: &str = "a secret";

/// Decides which words a folder may give.
pub trait FromFolder {
    fn may_give(words: &str) -> bool;
}

/// Words that are written into a folder, and read from it, only where `P` permits it. Others are
/// written as what they were called, and read as missing.
#[derive(Clone, PartialEq, Eq)]
pub struct Words<P> {
    given: Option<String>,
    /// For the message that asks for them again.
    called: String,
    secret: bool,
    permission: PhantomData<P>,
}

impl<P: FromFolder> Words<P> {
    pub fn new(words: impl Into<String>) -> Self {
        let words = words.into();
        let called = mask_text(&words);
        Self { given: Some(words), called, secret: false, permission: PhantomData }
    }

    /// Words that no folder keeps.
    pub fn secret(words: impl Into<String>) -> Self {
        Self { called: SECRET.to_owned(), secret: true, ..Self::new(words) }
    }

    fn missing(called: String) -> Self {
        Self { given: None, called, secret: false, permission: PhantomData }
    }

    /// # Errors
    /// They were read from a folder that may not give them.
    pub fn get(&self) -> Result<&str> {
        self.given().ok_or_else(|| {
            Error::usage(format!("{} is not taken from a folder", self.called), "give it again")
        })
    }

    /// The words; None where a folder may not give them.
    pub fn given(&self) -> Option<&str> {
        self.given.as_deref()
    }

    pub fn called(&self) -> &str {
        &self.called
    }
}

impl<P: FromFolder> Default for Words<P> {
    fn default() -> Self {
        Self::missing(String::new())
    }
}

/// Never shows a secret.
impl<P> fmt::Debug for Words<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.called)
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Words(String),
    /// What they were called: the command line gives them again.
    Again {
        again: String,
    },
    /// A secret of an earlier version's record.
    Secret(()),
}

impl<P: FromFolder> Serialize for Words<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        // What is called otherwise than it is has a secret of this invocation in it.
        let may_keep = |words: &&String| !self.secret && self.called == **words;
        let kept = self.given.as_ref().filter(|words| may_keep(words) && P::may_give(words));
        let again = || Written::Again { again: self.called.clone() };
        kept.map_or_else(again, |words| Written::Words(words.clone())).serialize(serializer)
    }
}

impl<'de, P: FromFolder> Deserialize<'de> for Words<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Words(words) if P::may_give(&words) => Self::new(words),
            Written::Words(called) | Written::Again { again: called } => Self::missing(called),
            Written::Secret(()) => Self::missing(SECRET.to_owned()),
        })
    }
}

impl<P> JsonSchema for Words<P> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

/// Workloads that this program has built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {}

impl FromFolder for BuiltIn {
    fn may_give(words: &str) -> bool {
        BUILTINS.iter().any(|builtin| builtin.name == words)
    }
}

/// Servers that this program brings along, and none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BroughtAlong {}

impl FromFolder for BroughtAlong {
    fn may_give(words: &str) -> bool {
        let kind = words.split(['@', ':']).next();
        let own = [ServerKind::Embedded.word(), ServerKind::Absorber.word(), "none"];
        kind.is_some_and(|kind| own.contains(&kind)) && !words.contains([',', '/'])
    }
}

/// Drivers without an option that names a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoProgram {}

impl FromFolder for NoProgram {
    fn may_give(words: &str) -> bool {
        !words.contains("=/")
    }
}

/// Values that name no file, and can steer neither an installer nor a connection string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {}

impl FromFolder for Plain {
    fn may_give(words: &str) -> bool {
        words.chars().all(|it| it.is_ascii_alphanumeric() || "._-:,+".contains(it))
    }
}

/// Nothing at all: addresses and connection strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {}

impl FromFolder for Nothing {
    fn may_give(_: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<P: FromFolder>(words: &Words<P>) -> String {
        serde_json::to_string(words).expect("words serialise")
    }

    fn read<P: FromFolder>(text: &str) -> Option<String> {
        let words: Words<P> = serde_json::from_str(text).expect(text);
        words.given().map(str::to_owned)
    }

    #[test]
    fn what_a_folder_may_not_give_is_missing_however_it_is_written() {
        let kept = Words::<BuiltIn>::new("crud");
        assert_eq!(written(&kept), r#""crud""#);
        assert_eq!(read::<BuiltIn>(r#""crud""#).as_deref(), Some("crud"));
        assert_eq!(written(&Words::<BuiltIn>::new("./a.yaml")), r#"{"again":"./a.yaml"}"#);
        for forged in [r#""/etc/passwd""#, r#"{"again":"crud"}"#] {
            assert_eq!(read::<BuiltIn>(forged), None, "{forged}");
        }
        assert_eq!(
            read::<BroughtAlong>(r#""embedded@4.4:replset=3""#).as_deref().map(str::len),
            Some(22)
        );
        for forged in [r#""mongod""#, r#""/bin/sh""#, r#""embedded,/bin/sh""#, r#""embedded/../x""#]
        {
            assert_eq!(read::<BroughtAlong>(forged), None, "{forged}");
        }
        assert_eq!(
            read::<NoProgram>(r#""python@4.20.0/w=1""#).as_deref(),
            Some("python@4.20.0/w=1")
        );
        assert_eq!(read::<NoProgram>(r#""python/runtime=/bin/sh""#), None);
        assert_eq!(read::<Plain>(r#""/etc/passwd""#), None);
        assert_eq!(read::<Nothing>(r#""mongodb://h""#), None);
        assert_eq!(read::<Plain>("null"), None, "as earlier versions wrote a secret");
    }

    #[test]
    fn a_connection_string_in_the_place_of_other_words_is_not_written() {
        base::secrets::keep_hosts("alice:un53cret@host");
        let words = Words::<NoProgram>::new("mongodb://alice:un53cret@host");
        assert_eq!(written(&words), r#"{"again":"mongodb://***:***@host"}"#);
    }

    #[test]
    fn a_secret_is_neither_written_nor_shown() {
        let secret = Words::<Plain>::secret("hunter2");
        assert_eq!(secret.get().expect("it was given"), "hunter2");
        for text in [written(&secret), format!("{secret:?}")] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
