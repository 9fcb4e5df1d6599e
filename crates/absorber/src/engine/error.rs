//! What went wrong, with mongod's codes and words.

use super::raw::{Value, kind};
use super::text::field_text;
use super::writer::Writer;

/// A command, or one write of it, that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// mongod's.
    pub code: i32,
    /// For people.
    pub message: String,
    /// Further fields of the answer: a whole document, whose fields are copied.
    pub details: Option<Vec<u8>>,
}

/// Most functions of the engine.
pub type Outcome<T> = Result<T, Fault>;

pub const BAD_VALUE: i32 = 2;
pub const FAILED_TO_PARSE: i32 = 9;
pub const UNAUTHORIZED: i32 = 13;
pub const TYPE_MISMATCH: i32 = 14;
pub const OVERFLOW: i32 = 15;
pub const INVALID_LENGTH: i32 = 16;
pub const ILLEGAL_OPERATION: i32 = 20;
pub const INVALID_BSON: i32 = 22;
pub const NAMESPACE_NOT_FOUND: i32 = 26;
pub const INDEX_NOT_FOUND: i32 = 27;
pub const PATH_NOT_VIABLE: i32 = 28;
pub const CONFLICTING_OPERATORS: i32 = 40;
pub const CURSOR_NOT_FOUND: i32 = 43;
pub const NAMESPACE_EXISTS: i32 = 48;
pub const DOLLAR_PREFIXED: i32 = 52;
pub const INVALID_ID: i32 = 53;
pub const EMPTY_FIELD_NAME: i32 = 56;
pub const IMMUTABLE_FIELD: i32 = 66;
pub const CANNOT_CREATE_INDEX: i32 = 67;
pub const INVALID_OPTIONS: i32 = 72;
pub const INVALID_NAMESPACE: i32 = 73;
pub const INDEX_OPTIONS_CONFLICT: i32 = 85;
pub const INDEX_SPECS_CONFLICT: i32 = 86;
pub const CAPPED_POSITION_LOST: i32 = 136;
pub const MEMORY_LIMIT: i32 = 146;
pub const CANNOT_INDEX_PARALLEL_ARRAYS: i32 = 171;
pub const QUERY_PLAN_KILLED: i32 = 175;
pub const INVALID_INDEX_SPECIFICATION: i32 = 197;
pub const DUPLICATE_KEY: i32 = 11000;
pub const OBJECT_TOO_LARGE: i32 = 10334;
pub const CURSOR_IN_USE: i32 = 12051;
pub const MISSING_FIELD: i32 = 40414;
pub const UNKNOWN_FIELD: i32 = 40415;

/// mongod's name of a code. Codes without one are called by their place in its source.
#[must_use]
pub fn code_name(code: i32) -> String {
    let name = match code {
        BAD_VALUE => "BadValue",
        FAILED_TO_PARSE => "FailedToParse",
        UNAUTHORIZED => "Unauthorized",
        TYPE_MISMATCH => "TypeMismatch",
        OVERFLOW => "Overflow",
        INVALID_LENGTH => "InvalidLength",
        ILLEGAL_OPERATION => "IllegalOperation",
        INVALID_BSON => "InvalidBSON",
        NAMESPACE_NOT_FOUND => "NamespaceNotFound",
        INDEX_NOT_FOUND => "IndexNotFound",
        PATH_NOT_VIABLE => "PathNotViable",
        CONFLICTING_OPERATORS => "ConflictingUpdateOperators",
        CURSOR_NOT_FOUND => "CursorNotFound",
        NAMESPACE_EXISTS => "NamespaceExists",
        DOLLAR_PREFIXED => "DollarPrefixedFieldName",
        INVALID_ID => "InvalidIdField",
        EMPTY_FIELD_NAME => "EmptyFieldName",
        IMMUTABLE_FIELD => "ImmutableField",
        CANNOT_CREATE_INDEX => "CannotCreateIndex",
        INVALID_OPTIONS => "InvalidOptions",
        INVALID_NAMESPACE => "InvalidNamespace",
        INDEX_OPTIONS_CONFLICT => "IndexOptionsConflict",
        INDEX_SPECS_CONFLICT => "IndexKeySpecsConflict",
        CAPPED_POSITION_LOST => "CappedPositionLost",
        MEMORY_LIMIT => "ExceededMemoryLimit",
        CANNOT_INDEX_PARALLEL_ARRAYS => "CannotIndexParallelArrays",
        QUERY_PLAN_KILLED => "QueryPlanKilled",
        INVALID_INDEX_SPECIFICATION => "InvalidIndexSpecificationOption",
        DUPLICATE_KEY => "DuplicateKey",
        OBJECT_TOO_LARGE => "BSONObjectTooLarge",
        CURSOR_IN_USE => "CursorInUse",
        // Those that the server around the engine has, or that somebody asks for by `--error`.
        1 => "InternalError",
        18 => "AuthenticationFailed",
        50 => "MaxTimeMSExpired",
        59 => "CommandNotFound",
        91 => "ShutdownInProgress",
        112 => "WriteConflict",
        189 => "PrimarySteppedDown",
        262 => "ExceededTimeLimit",
        10107 => "NotWritablePrimary",
        11600 => "InterruptedAtShutdown",
        11602 => "InterruptedDueToReplStateChange",
        13435 => "NotPrimaryNoSecondaryOk",
        13436 => "NotPrimaryOrSecondary",
        other => return format!("Location{other}"),
    };
    name.to_owned()
}

impl Fault {
    /// A fault without further fields.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// A value that makes no sense.
    pub fn bad_value(message: impl Into<String>) -> Self {
        Self::new(BAD_VALUE, message)
    }

    /// Something real servers have and the absorber has not.
    pub fn not_here(what: &str) -> Self {
        Self::bad_value(format!("the absorber of mongodyno has no {what}; measure with a mongod"))
    }

    /// A field of a command that holds the wrong kind of value.
    pub fn wrong_type(path: &str, value: Value<'_>, expected: &str) -> Self {
        let found = value.kind_name();
        let message =
            format!("BSON field '{path}' is the wrong type '{found}', expected {expected}");
        Self::new(TYPE_MISMATCH, message)
    }

    /// A required field of a command that is not there.
    pub fn missing(path: &str) -> Self {
        let message = format!("BSON field '{path}' is missing but a required field");
        Self::new(MISSING_FIELD, message)
    }

    /// A field of a command that it does not have.
    pub fn unknown(path: &str) -> Self {
        Self::new(UNKNOWN_FIELD, format!("BSON field '{path}' is an unknown field."))
    }

    /// A unique index has the key already.
    pub fn duplicate(namespace: &str, index: &str, pattern: &[u8], values: &[u8]) -> Self {
        let shown = field_text(Value { kind: kind::DOCUMENT, bytes: values });
        let message = format!(
            "E11000 duplicate key error collection: {namespace} index: {index} dup key: {shown}"
        );
        let mut details = Writer::new(64);
        details.document("keyPattern", pattern);
        details.document("keyValue", values);
        Self { code: DUPLICATE_KEY, message, details: Some(details.finish()) }
    }

    /// Nothing fits into the memory any more.
    pub fn memory(limit_bytes: u64) -> Self {
        let message = format!(
            "the absorber's memory is full: documents, indexes and cursors may take {limit_bytes} \
             bytes; \
             give it more with --memory, or use a capped collection"
        );
        Self::new(MEMORY_LIMIT, message)
    }

    /// The answer to a command that failed.
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
