//! What the lines of a vector say and expect, as pure functions of messages.

use serde_json::Value;

/// Replaces `"{+50ms}"` by the time 50 ms after `now_ns`.
pub fn with_times(text: &str, now_ns: u64) -> String {
    let mut parts = text.split("\"{+");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let time = part.split_once("ms}\"").and_then(|(ms, rest)| Some((ms.parse().ok()?, rest)));
        match time {
            Some((ms, rest)) => {
                let ms: u64 = ms;
                filled += &(now_ns + ms * 1_000_000).to_string();
                filled += rest;
            }
            None => filled.extend(["\"{+", part]),
        }
    }
    filled
}

/// Checks that every named field exists and is equal; `"$any"` matches any value except null,
/// `{"$has": […]}` an array with at least these elements.
pub fn matches(wanted: &Value, found: &Value, place: &str) -> Result<(), String> {
    match (wanted, found) {
        (Value::String(any), Value::Null) if any == "$any" => Err(format!("{place} is null")),
        (Value::String(any), _) if any == "$any" => Ok(()),
        (Value::Object(has), _) if has.contains_key("$has") => {
            let there = found.as_array().map_or(&[][..], Vec::as_slice);
            let wanted = has["$has"].as_array().map_or(&[][..], Vec::as_slice);
            match wanted.iter().find(|it| !there.contains(it)) {
                Some(missing) => Err(format!("{place} lacks {missing}")),
                None => Ok(()),
            }
        }
        (Value::Object(wanted), Value::Object(found)) => {
            for (name, value) in wanted {
                let place = format!("{place}.{name}");
                let inner = found.get(name).ok_or_else(|| format!("{place} is missing"))?;
                matches(value, inner, &place)?;
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let both = wanted.iter().zip(found).enumerate();
            both.into_iter().try_for_each(|(number, (wanted, found))| {
                matches(wanted, found, &format!("{place}[{number}]"))
            })
        }
        // Some languages write whole numbers with a point.
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => {
            Ok(())
        }
        _ if wanted == found => Ok(()),
        _ => Err(format!("{place} is {found}, expected {wanted}")),
    }
}

pub fn has_w(client: &Value) -> bool {
    !client["options"]["w"].is_null()
}

/// Asks for acknowledged writes in `open`, unless the vector sets `w` itself.
pub fn ask_for_answers(message: &mut Value) {
    for client in message["clients"].as_array_mut().into_iter().flatten() {
        if !has_w(client) {
            let uri = client["uri"].as_str().unwrap_or_default();
            let between = if uri.contains('?') { '&' } else { '?' };
            client["uri"] = format!("{uri}{between}w=1").into();
            client["options"]["w"] = "1".into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expectations_name_the_first_difference() {
        let found = json!({
            "type": "ready", "a": { "b": 1, "c": null }, "further": 2, "list": [1, { "d": 2.0 }],
        });
        let holds = |wanted: Value| matches(&wanted, &found, "");
        assert_eq!(holds(json!({ "type": "ready", "a": { "b": "$any" } })), Ok(()));
        assert_eq!(holds(json!({ "list": [1, { "d": 2 }] })), Ok(()));
        assert_eq!(holds(json!({ "list": { "$has": [1] } })), Ok(()));
        assert_eq!(holds(json!({ "list": { "$has": [3] } })), Err(".list lacks 3".to_owned()));
        assert!(holds(json!({ "list": [1] })).is_err());
        assert_eq!(holds(json!({ "a": { "b": 2 } })), Err(".a.b is 1, expected 2".to_owned()));
        assert_eq!(holds(json!({ "a": { "c": "$any" } })), Err(".a.c is null".to_owned()));
        assert_eq!(holds(json!({ "z": 1 })), Err(".z is missing".to_owned()));
    }

    #[test]
    fn answers_are_asked_for_where_nothing_is_said() {
        let mut message = json!({ "type": "open", "clients": [
            { "uri": "mongodb://a/", "options": {} },
            { "uri": "mongodb://a/?x=1", "options": { "x": "1" } },
            { "uri": "mongodb://a/?w=0", "options": { "w": "0" } },
        ] });
        ask_for_answers(&mut message);
        assert_eq!(
            message["clients"],
            json!([
                { "uri": "mongodb://a/?w=1", "options": { "w": "1" } },
                { "uri": "mongodb://a/?x=1&w=1", "options": { "x": "1", "w": "1" } },
                { "uri": "mongodb://a/?w=0", "options": { "w": "0" } },
            ])
        );
    }

    #[test]
    fn times_are_filled_in() {
        let filled = with_times(r#"{"a":"{+50ms}","b":"{+x}","c":"{+2ms}"}"#, 7);
        assert_eq!(filled, r#"{"a":50000007,"b":"{+x}","c":2000007}"#);
    }
}
