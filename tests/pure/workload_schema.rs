//! The published schema and the reader agree: documents are made out of the schema, right ones and
//! spoilt ones, and what one of the two refuses the other refuses. Names that have to be elsewhere
//! in a document are the reader's alone: they are checked after its shape.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use serde_json::{Map, Value, json};

const DOCUMENTS: usize = 2_000;
const DEPTH_MAX: usize = 5;

struct Maker {
    schema: Value,
    random: ChaCha8Rng,
}

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }

    fn one(&mut self, values: &[Value]) -> Value {
        values[self.below(values.len())].clone()
    }

    /// A value that this part of the schema takes.
    fn make(&mut self, part: &Value, depth: usize) -> Value {
        if let Some(name) = part["$ref"].as_str() {
            let part = self.schema.pointer(&name[1..]).expect("a part").clone();
            return self.make(&part, depth);
        }
        if let Some(fixed) = part.get("const") {
            return fixed.clone();
        }
        for key in ["enum", "anyOf", "oneOf"] {
            let Some(choices) = part[key].as_array() else { continue };
            // A word that is a parameter has to be the right one.
            let is_parameter = |choice: &Value| {
                choice["type"] == "string"
                    && choice["pattern"].as_str().is_some_and(|it| it.starts_with(r"^\$"))
            };
            let choices: Vec<Value> =
                choices.iter().filter(|it| !is_parameter(it)).cloned().collect();
            let choice = self.one(&choices);
            return if key == "enum" { choice } else { self.make(&choice, depth) };
        }
        let types = match &part["type"] {
            Value::Array(types) => types.clone(),
            one => vec![one.clone()],
        };
        match self.one(&types).as_str().unwrap_or("any") {
            "object" => self.object(part, depth),
            "array" => {
                let count = part["minItems"].as_u64().unwrap_or(1) as usize;
                (0..count).map(|_| self.make(&part["items"], depth + 1)).collect()
            }
            "integer" => self.number(part, true),
            "number" => self.number(part, false),
            "boolean" => json!(self.below(2) == 0),
            "null" => Value::Null,
            "string" => match part["pattern"].as_str() {
                Some(pattern) if pattern.starts_with('^') => {
                    self.one(&[json!("10s"), json!("0"), json!("1.5 ms"), json!("${time}")])
                }
                Some(_) if types.contains(&json!("boolean")) => json!("${truth}"),
                Some(_) => json!("${number}"),
                None => self.one(&[json!("a"), json!("_id"), json!("5"), json!("yes"), json!("")]),
            },
            _ => self.any(),
        }
    }

    /// A number at the bounds or between them.
    fn number(&mut self, part: &Value, whole: bool) -> Value {
        let bounds = ["minimum", "maximum"].map(|key| part[key].clone());
        let [least, most] = bounds.each_ref().map(Value::as_f64);
        let mut numbers = vec![json!(1), json!(4.0), json!(100)];
        numbers.extend((!whole).then(|| json!(0.5)));
        numbers.retain(|number| {
            let number = number.as_f64();
            number >= least && (most.is_none() || number <= most)
        });
        numbers.extend(bounds.into_iter().filter(|bound| !bound.is_null()));
        self.one(&numbers)
    }

    fn object(&mut self, part: &Value, depth: usize) -> Value {
        let mut made = Map::new();
        let required: BTreeSet<&str> =
            part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, within) in part["properties"].as_object().into_iter().flatten() {
            let wanted = depth < DEPTH_MAX && self.below(3) == 0;
            if required.contains(name.as_str()) || wanted {
                made.insert(name.clone(), self.make(within, depth + 1));
            }
        }
        let others =
            [("a", &part["additionalProperties"]), ("5", &part["patternProperties"][r"^\d+$"])];
        for (name, within) in others {
            if within.is_object() || within == &Value::Bool(true) {
                made.insert(name.to_owned(), self.make(within, depth + 1));
            }
        }
        made.into()
    }

    /// A value of any type.
    fn any(&mut self) -> Value {
        let texts = ["yes", "4", "true", "text", "_id", "10s", ".nan", "null"];
        let numbers = [0.0, 0.5, -1.0, 1.5, 3.0, 1e10, 1e16, -1e300];
        let mut all: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
        all.extend(numbers.iter().map(|number| json!(number)));
        let others = "[null, true, 5, -1, 4294967296, 9223372036854775807, [], {}, [1], [1, 2, 3], \
                      {\"a\": 1}, {\"zipfian\": 0.5, \"latest\": 0.5}, {\"uniform\": [1, 2, 3]}]";
        all.extend(serde_json::from_str::<Vec<Value>>(others).expect("JSON"));
        self.one(&all)
    }

    /// Another value, one key more or one less somewhere in a document.
    fn spoil(&mut self, value: &mut Value) {
        let within = match value {
            Value::Object(entries) => entries.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if within > 0 && self.below(5) > 0 {
            let at = self.below(within);
            match value {
                Value::Object(entries) => self.spoil(entries.values_mut().nth(at).expect("one")),
                Value::Array(items) => self.spoil(&mut items[at]),
                _ => {}
            }
            return;
        }
        match (self.below(3), &mut *value) {
            (0, Value::Object(entries)) => drop(entries.insert("unknown".to_owned(), json!(1))),
            (1, Value::Object(entries)) if !entries.is_empty() => {
                let name = entries.keys().nth(self.below(within)).cloned().expect("one");
                entries.remove(&name);
            }
            _ => *value = self.any(),
        }
    }
}

#[test]
fn the_reader_takes_what_the_schema_takes() {
    let schema = workload::schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut maker = Maker { schema: schema.clone(), random: ChaCha8Rng::seed_from_u64(7) };
    let (mut taken, mut refused, mut differ) = (0, 0, Vec::new());
    for number in 0..DOCUMENTS {
        let mut document = maker.make(&schema, 0);
        let entries = document.as_object_mut().expect("a mapping");
        entries.entry("parameters").or_insert(json!({}));
        for _ in 0..number % 3 {
            maker.spoil(&mut document);
        }
        // What `make` names.
        let values = [("number", json!(1)), ("truth", json!(true)), ("time", json!("2s"))];
        if let Some(Value::Object(parameters)) = document.get_mut("parameters") {
            parameters.extend(values.map(|(name, value)| (name.to_owned(), value)));
        } else if document.to_string().contains("${") {
            continue;
        }
        let text = document.to_string();
        let path = Path::new("test.yaml");
        let read = workload::parse(&text, path, &BTreeMap::new());
        match (read, validator.validate(&document)) {
            (Ok(_), Ok(())) => taken += 1,
            (Err(_), Err(_)) => refused += 1,
            (Err(error), Ok(())) => {
                let problem = error.problems().next().expect("one");
                let at = problem.span.map_or(0, |(at, _)| at);
                let near = text.get(at.saturating_sub(30)..(at + 20).min(text.len()));
                differ.push(format!("the reader refuses: {problem} at {near:?}"));
            }
            // Bounds are checked with all else that a user is told at once.
            (Ok(loaded), Err(_)) if workload::build(&loaded, 1).is_err() => refused += 1,
            (Ok(_), Err(fault)) => {
                differ.push(format!("the schema refuses {}: {fault:.100}", fault.instance_path()));
            }
        }
    }
    let count = differ.len();
    differ.truncate(25);
    assert!(differ.is_empty(), "{count} differ:\n{}", differ.join("\n"));
    assert!(taken > DOCUMENTS / 3 && refused > DOCUMENTS / 4, "{taken} taken, {refused} refused");
}

/// Where a value is written, one within its bounds and one outside of them.
type Bound = (fn(&Value) -> Value, Value, Value);

/// An editor shows what the reader would refuse later.
#[test]
fn bounds_are_in_the_schema() {
    let validator = jsonschema::validator_for(&workload::schema()).expect("a schema");
    let takes = |collection: &Value, phase: &Value| {
        validator.is_valid(&json!({"why": "", "collections": {"c": collection}, "phases": [phase]}))
    };
    let none = json!({});
    let bounds: [Bound; 12] = [
        (|it| json!({"operations": it}), json!(1), json!(0)),
        (|it| json!({"operations": it}), json!(u32::MAX), json!(1_u64 << 32)),
        (|it| json!({"documents": it}), json!(1), json!(0)),
        (|it| json!({"batch": it}), json!(1), json!(0)),
        (|it| json!({"range": it}), json!(1), json!(0)),
        (|it| json!({"limit": {"uniform": [it, 9]}}), json!(1), json!(0)),
        (|it| json!({"write_concern": {"w": it}}), json!(50), json!(51)),
        (|it| json!({"write_concern": {"w": it}}), json!("majority"), json!(-1)),
        (|it| json!({"workers": it}), json!(65_536), json!(0)),
        (|it| json!({"duration": it}), json!(86_400), json!(86_401)),
        (|it| json!({"mix": it}), json!([{}]), json!([])),
        (|it| json!({"sequence": [{"operations": it}]}), json!(1), json!(0)),
    ];
    for (phase, right, wrong) in bounds {
        assert!(takes(&none, &phase(&right)), "{}", phase(&right));
        assert!(!takes(&none, &phase(&wrong)), "{}", phase(&wrong));
    }
    let bounds: [Bound; 4] = [
        (|it| json!({"shard": {"by": "ranged", "chunks": it}}), json!(1024), json!(1)),
        (|it| json!({"capped": {"size_bytes": it}}), json!(4096), json!(4095)),
        (|it| json!({"capped": {"size_bytes": 4096, "documents": it}}), json!(1), json!(0)),
        (|it| json!({"document": {"a": {"width": it}}}), json!(1000), json!(1001)),
    ];
    for (collection, right, wrong) in bounds {
        assert!(takes(&collection(&right), &none), "{}", collection(&right));
        assert!(!takes(&collection(&wrong), &none), "{}", collection(&wrong));
    }
}

#[test]
fn our_own_workloads_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let groups = workload::builtin::GROUPS.iter().map(|group| format!("workloads/{group}"));
    let others = ["workloads/check", "tests/fixtures/workloads"].map(str::to_owned);
    let folders: Vec<String> = groups.chain(others).collect();
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).expect("a folder"));
    let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    let yaml = files.iter().filter(|path| path.extension().is_some_and(|it| it == "yaml"));
    let mut count = 0;
    for path in yaml {
        let text = fs::read_to_string(path).expect("a text");
        let made = workload::parse(&text, path, &BTreeMap::new())
            .and_then(|loaded| workload::build(&loaded, 1));
        assert!(made.is_ok(), "{}: {:?}", path.display(), made.err());
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// What an operation's key, a constant and a parameter come to, by the types of YAML 1.2.
#[test]
fn scalars_have_the_types_of_yaml() {
    let head = "why: test\nparameters: {number: 5, text: \"5\", word: yes}\n";
    let constant = |value: &str| {
        let text = format!(
            "{head}collections: {{c: {{documents: 1, document: {{v: {{constant: {value}}}}}}}}}\n\
             phases: [{{operation: find_one}}]\n"
        );
        let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
        let made = loaded.and_then(|loaded| workload::build(&loaded, 1)).expect(value);
        made.pools[0].document(0).get("v").expect("a value").to_string()
    };
    for (value, wanted) in [
        ("n", "\"n\""),
        ("y", "\"y\""),
        ("yes", "\"yes\""),
        ("no", "\"no\""),
        ("on", "\"on\""),
        ("off", "\"off\""),
        ("\"4\"", "\"4\""),
        ("'true'", "\"true\""),
        ("1_000", "\"1_000\""),
        ("true", "true"),
        ("False", "false"),
        ("~", "null"),
        ("null", "null"),
        ("4", "4"),
        ("4.5", "4.5"),
        ("0x1F", "31"),
        ("${number}", "5"),
        ("\"${number}\"", "5"),
        ("\"${text}\"", "\"5\""),
        ("${word}", "\"yes\""),
    ] {
        assert_eq!(constant(value), wanted, "{value}");
    }
}

/// Whatever BSON there is can be written as a constant.
#[test]
fn constants_are_any_bson() {
    use bson::raw::CString;
    use bson::spec::BinarySubtype;
    use bson::{Binary, Bson, Decimal128, Regex, Timestamp, doc};
    let decimal: Decimal128 = "1.50".parse().expect("a decimal");
    let uuid = Binary { subtype: BinarySubtype::Uuid, bytes: vec![0x11; 16] };
    let text = |text: &str| CString::try_from(text).expect("no zero byte");
    let regex = Regex { pattern: text("^a"), options: text("i") };
    for (yaml, wanted) in [
        ("~", Bson::Null),
        ("-0.0", Bson::Double(-0.0)),
        ("{$numberDouble: NaN}", Bson::Double(f64::NAN)),
        ("{$numberDouble: -Infinity}", Bson::Double(f64::NEG_INFINITY)),
        ("9223372036854775807", Bson::Int64(i64::MAX)),
        ("-9223372036854775808", Bson::Int64(i64::MIN)),
        ("{$numberLong: 5}", Bson::Int64(5)),
        ("{$numberDecimal: \"1.50\"}", Bson::Decimal128(decimal)),
        ("{$minKey: 1}", Bson::MinKey),
        ("{$maxKey: 1}", Bson::MaxKey),
        ("{$timestamp: {t: 5, i: 1}}", Bson::Timestamp(Timestamp { time: 5, increment: 1 })),
        ("{$uuid: 11111111-1111-1111-1111-111111111111}", Bson::Binary(uuid)),
        ("{$regularExpression: {pattern: ^a, options: i}}", Bson::RegularExpression(regex)),
        ("{\"\": {\"\": 1}}", Bson::Document(doc! { "": { "": 1 } })),
    ] {
        let made = first_value(&format!("{{constant: {yaml}}}"));
        // NaN is no equal of itself.
        assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "{yaml}");
    }
}

/// A reference is a key that is there, a place is one on earth, an embedding has its length.
#[test]
fn generated_values_are_what_they_say() {
    let reference = first_value("{key_of: others}").as_object_id().expect("an id");
    assert!(reference.to_hex().starts_with("6955b90000000000000000"), "{reference}");
    let number = first_value("{key_of: others, by: number}").as_i64().expect("a number");
    assert!((7..10).contains(&number), "{number}");
    let place = first_value("point").as_document().expect("a place").clone();
    let at = place.get_array("coordinates").expect("two numbers").clone();
    let [east, north] = [0, 1].map(|axis| at[axis].as_f64().expect("a number"));
    assert!((-180.0..=180.0).contains(&east) && (-90.0..=90.0).contains(&north), "{place}");
    let embedding = first_value("{type: array, of: {type: double, min: -1}, length: 384}");
    assert_eq!(embedding.as_array().expect("numbers").len(), 384);
    let text = first_value("{one_of: [red, green], weights: [0, 1]}");
    assert_eq!(text.as_str(), Some("green"));
}

/// The field `v` of the first document.
fn first_value(field: &str) -> bson::Bson {
    let text = format!(
        "why: test\ncollections:\n  c: {{documents: 1, document: {{v: {field}}}}}\n  \
         others: {{documents: 3, document: {{number: {{type: long, value: key, add: 7}}}}}}\n\
         phases: [{{operation: find_one, collection: c}}]\n"
    );
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    let made = loaded.and_then(|loaded| workload::build(&loaded, 1)).expect(field);
    made.pools[0].document(0).get("v").expect("a value").clone()
}
