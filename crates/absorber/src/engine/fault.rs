//! Faults, with mongod's codes and mostly words of our own.

use super::writer::Writer;

/// A command, or one write of it, that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: i32,
    pub message: String,
    /// Further fields of the answer: a whole document, whose fields are copied.
    pub details: Option<Vec<u8>>,
}

pub type Fallible<T> = Result<T, Fault>;

/// Codes of the engine as constants, and mongod's names of these and others.
macro_rules! codes {
    ($($constant:ident = $code:literal $name:literal,)*;
     $($other:literal $other_name:literal,)*) => {
        $(pub const $constant: i32 = $code;)*

        /// mongod's name of a code. Codes without one are called by their place in its source.
        pub fn code_name(code: i32) -> String {
            let name = match code {
                $($code => $name,)*
                $($other => $other_name,)*
                other => return format!("Location{other}"),
            };
            name.to_owned()
        }
    };
}

codes! {
    BAD_VALUE = 2 "BadValue",
    FAILED_TO_PARSE = 9 "FailedToParse",
    UNAUTHORIZED = 13 "Unauthorized",
    TYPE_MISMATCH = 14 "TypeMismatch",
    OVERFLOW = 15 "Overflow",
    INVALID_LENGTH = 16 "InvalidLength",
    ILLEGAL_OPERATION = 20 "IllegalOperation",
    INVALID_BSON = 22 "InvalidBSON",
    NAMESPACE_NOT_FOUND = 26 "NamespaceNotFound",
    PATH_NOT_VIABLE = 28 "PathNotViable",
    CONFLICTING_OPERATORS = 40 "ConflictingUpdateOperators",
    CURSOR_NOT_FOUND = 43 "CursorNotFound",
    NAMESPACE_EXISTS = 48 "NamespaceExists",
    DOLLAR_PREFIXED = 52 "DollarPrefixedFieldName",
    INVALID_ID = 53 "InvalidIdField",
    EMPTY_FIELD_NAME = 56 "EmptyFieldName",
    IMMUTABLE_FIELD = 66 "ImmutableField",
    CANNOT_CREATE_INDEX = 67 "CannotCreateIndex",
    INVALID_OPTIONS = 72 "InvalidOptions",
    INVALID_NAMESPACE = 73 "InvalidNamespace",
    INDEX_OPTIONS_CONFLICT = 85 "IndexOptionsConflict",
    INDEX_SPECS_CONFLICT = 86 "IndexKeySpecsConflict",
    CAPPED_POSITION_LOST = 136 "CappedPositionLost",
    MEMORY_LIMIT = 146 "ExceededMemoryLimit",
    QUERY_PLAN_KILLED = 175 "QueryPlanKilled",
    CURSOR_KILLED = 237 "CursorKilled",
    DUPLICATE_KEY = 11000 "DuplicateKey",
    CURSOR_IN_USE = 12051 "CursorInUse",
    MISSING_FIELD = 40414 "Location40414",
    UNKNOWN_FIELD = 40415 "Location40415",
    ;
    // Codes of the server around the engine, and those for `--error`.
    1 "InternalError",
    18 "AuthenticationFailed",
    50 "MaxTimeMSExpired",
    59 "CommandNotFound",
    91 "ShutdownInProgress",
    112 "WriteConflict",
    189 "PrimarySteppedDown",
    262 "ExceededTimeLimit",
    10107 "NotWritablePrimary",
    11600 "InterruptedAtShutdown",
    11602 "InterruptedDueToReplStateChange",
    13435 "NotPrimaryNoSecondaryOk",
    13436 "NotPrimaryOrSecondary",
}

impl Fault {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    pub fn bad_value(message: impl Into<String>) -> Self {
        Self::new(BAD_VALUE, message)
    }

    /// An ability of real servers that the absorber lacks.
    pub fn not_here(what: &str) -> Self {
        Self::bad_value(format!("the absorber of mongodyno has no {what}; measure with a mongod"))
    }

    /// A field of a command that has the wrong kind of value.
    pub fn wrong_type(name: &str, expected: &str) -> Self {
        Self::new(TYPE_MISMATCH, format!("BSON field '{name}' is no {expected}"))
    }

    pub fn missing(name: &str) -> Self {
        let message = format!("BSON field '{name}' is missing but a required field");
        Self::new(MISSING_FIELD, message)
    }

    pub fn unknown(name: &str) -> Self {
        let message = format!("the absorber of mongodyno knows no field '{name}' of this command");
        Self::new(UNKNOWN_FIELD, message)
    }

    /// A unique index has the key already. In mongod's words: programs read them.
    pub fn duplicate(namespace: &str, index: &str, pattern: &[u8], values: &[u8]) -> Self {
        let shown = bson::Document::from_reader(values).unwrap_or_default();
        let message = format!(
            "E11000 duplicate key error collection: {namespace} index: {index} dup key: {shown}"
        );
        let mut details = Writer::new(64);
        details.document("keyPattern", pattern);
        details.document("keyValue", values);
        Self { code: DUPLICATE_KEY, message, details: Some(details.finish()) }
    }

    /// The memory is full.
    pub fn memory(limit_bytes: u64) -> Self {
        let message = format!(
            "the absorber's memory is full: documents, indexes and cursors may take {limit_bytes} \
             bytes; give it more with --memory, or use a capped collection"
        );
        Self::new(MEMORY_LIMIT, message)
    }

    pub fn reply(&self) -> Writer {
        let mut reply = Writer::new(128 + self.message.len());
        reply.double("ok", 0.0);
        reply.text("errmsg", &self.message);
        reply.int("code", self.code);
        reply.text("codeName", &code_name(self.code));
        if let Some(details) = &self.details {
            reply.copy_all(details);
        }
        reply
    }
}
