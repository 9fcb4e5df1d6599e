using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

// A JSON object as it was read.
sealed class Message : Dictionary<string, object>
{
    // Null if the field is missing or null.
    public T Get<T>(string name)
        where T : class => TryGetValue(name, out var value) ? value as T : null;

    public Message Object(string name) => Get<Message>(name);

    public string Text(string name) => Get<string>(name);

    public long Number(string name, long missing = 0) =>
        TryGetValue(name, out var value) && value is long number ? number : missing;

    public bool Flag(string name, bool missing) =>
        TryGetValue(name, out var value) && value is bool flag ? flag : missing;

    public IEnumerable<T> Items<T>(string name) =>
        (Get<List<object>>(name) ?? new List<object>()).Cast<T>();
}

// A JSON reader: .NET and Mono share none that refuses half an object. Integers are long, other
// numbers double.
sealed class JsonReader
{
    readonly string line;
    int at;

    JsonReader(string line) => this.line = line;

    public static Message Parse(string line)
    {
        try
        {
            var reader = new JsonReader(line);
            if (reader.Value() is Message message && reader.Next() == '\0')
                return message;
            throw new FormatException("no JSON object");
        }
        catch (FormatException error)
        {
            throw new Refusal("protocol", error.Message);
        }
    }

    object Value()
    {
        switch (Next())
        {
            case '{':
                var message = new Message();
                ForEach('}', () =>
                {
                    var name = Text();
                    Expect(":");
                    message[name] = Value();
                });
                return message;
            case '[':
                var items = new List<object>();
                ForEach(']', () => items.Add(Value()));
                return items;
            case '"':
                return Text();
            case 't':
                Expect("true");
                return true;
            case 'f':
                Expect("false");
                return false;
            case 'n':
                Expect("null");
                return null;
            default:
                return Number();
        }
    }

    // The next character that is not a space; NUL at the end.
    char Next()
    {
        while (at < line.Length && char.IsWhiteSpace(line[at]))
            at++;
        return at < line.Length ? line[at] : '\0';
    }

    void Expect(string word)
    {
        Next();
        if (string.CompareOrdinal(line, at, word, 0, word.Length) != 0)
            throw new FormatException($"no JSON: '{word}' is missing at {at}");
        at += word.Length;
    }

    void ForEach(char close, Action read)
    {
        at++;
        if (Next() != close)
        {
            for (read(); Next() != close; read())
                Expect(",");
        }
        at++;
    }

    object Number()
    {
        var from = at;
        while (at < line.Length && "+-.0123456789Ee".IndexOf(line[at]) >= 0)
            at++;
        var text = line.Substring(from, at - from);
        var culture = CultureInfo.InvariantCulture;
        if (long.TryParse(text, NumberStyles.AllowLeadingSign, culture, out var whole))
            return whole;
        return double.Parse(text, NumberStyles.Float, culture);
    }

    string Text()
    {
        Expect("\"");
        var text = new StringBuilder();
        for (; at < line.Length && line[at] != '"'; at++)
            text.Append(line[at] == '\\' ? Escaped() : line[at]);
        Expect("\"");
        return text.ToString();
    }

    char Escaped()
    {
        const string names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
        var name = ++at < line.Length ? names.IndexOf(line[at]) : -1;
        if (name >= 0)
            return values[name];
        if (at + 4 >= line.Length || line[at] != 'u')
            throw new FormatException($"no JSON: an escape at {at}");
        at += 4;
        return (char)Convert.ToUInt16(line.Substring(at - 3, 4), 16);
    }
}

static class Json
{
    // A word of the driver as connection strings write it: primaryPreferred.
    public static string Camel(object word)
    {
        var text = word.ToString();
        return char.ToLowerInvariant(text[0]) + text.Substring(1);
    }

    // An object of names and values that follow one another.
    public static Dictionary<string, object> Fields(params object[] namesAndValues)
    {
        var fields = new Dictionary<string, object>();
        for (var i = 0; i < namesAndValues.Length; i += 2)
            fields[(string)namesAndValues[i]] = namesAndValues[i + 1];
        return fields;
    }

    public static StringBuilder Write(object value, StringBuilder to)
    {
        // No switch over types, because Mono's compiler has none.
        if (value == null)
            return to.Append("null");
        if (value is bool flag)
            return to.Append(flag ? "true" : "false");
        if (value is string text)
            return WriteText(text, to);
        if (value is IDictionary<string, object> fields)
        {
            return WriteAll(fields, '{', '}', field =>
            {
                WriteText(field.Key, to).Append(':');
                Write(field.Value, to);
            }, to);
        }
        if (value is IEnumerable items)
            return WriteAll(items.Cast<object>(), '[', ']', item => Write(item, to), to);
        return to.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
    }

    static StringBuilder WriteAll<T>(
        IEnumerable<T> items, char open, char close, Action<T> write, StringBuilder to)
    {
        to.Append(open);
        var first = true;
        foreach (var item in items)
        {
            if (!first)
                to.Append(',');
            first = false;
            write(item);
        }
        return to.Append(close);
    }

    static StringBuilder WriteText(string text, StringBuilder to)
    {
        to.Append('"');
        foreach (var letter in text)
        {
            if (letter == '"' || letter == '\\')
                to.Append('\\').Append(letter);
            else if (letter < ' ' || char.IsSurrogate(letter))
                to.Append("\\u").Append(((int)letter).ToString("x4"));
            else
                to.Append(letter);
        }
        return to.Append('"');
    }
}
