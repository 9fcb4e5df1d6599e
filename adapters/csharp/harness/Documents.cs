using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;

// The values that stamps may put into one document.
sealed class Input
{
    public static readonly DateTime UnixEpoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    public long Key, Shift, Sequence, Producer, MadeNs, TimeMs;
    public byte[] Guids = new byte[16]; // the schedule's bytes, where its guid begins at GuidAt
    public int GuidAt;
    public bool Live; // the clocks are read when a stamp needs them

    // Looked up by name only at `prepare`.
    public static Func<Input, long> Getter(string from)
    {
        switch (from)
        {
            case "sequence":
                return it => it.Sequence;
            case "producer":
                return it => it.Producer;
            case "made_ns":
                return it => it.Live ? Machine.Now() : it.MadeNs;
            case "time_ms":
                return it => it.Live ? WallClockMs() : it.TimeMs;
            default:
                return it => it.Key + it.Shift;
        }
    }

    static long WallClockMs() => (long)(DateTime.UtcNow - UnixEpoch).TotalMilliseconds;

    public byte[] Guid()
    {
        var guid = new byte[16];
        Buffer.BlockCopy(Guids, GuidAt, guid, 0, 16);
        for (var i = 0; i < 4; i++)
        {
            guid[i] ^= (byte)(Shift >> 8 * i);
            guid[12 + i] ^= (byte)(Shift >> 32 + 8 * i);
        }
        return guid;
    }
}

sealed class Stamp
{
    public readonly string[] Path;
    public readonly string As;
    readonly Func<Input, long> value;
    readonly string prefix;
    readonly int width;
    readonly long add;
    readonly byte[] prefixBytes;

    public Stamp(Message from)
    {
        Path = from.Items<string>("path").ToArray();
        As = from.Text("as");
        value = Input.Getter(from.Text("from"));
        prefix = from.Text("prefix") ?? "";
        width = (int)from.Number("width");
        add = from.Number("add");
        if (As == "objectid")
            prefixBytes = Hex.Decode(prefix);
    }

    public long Number(Input input) => value(input) + add;

    public DateTime Date(Input input) => Input.UnixEpoch.AddMilliseconds(Number(input));

    public string Text(Input input)
    {
        if (As == "guid_string")
        {
            var digits = Hex.Encode(input.Guid());
            return digits.Insert(20, "-").Insert(16, "-").Insert(12, "-").Insert(8, "-");
        }
        return prefix + Number(input).ToString(CultureInfo.InvariantCulture).PadLeft(width, '0');
    }

    public byte[] ObjectId(Input input)
    {
        var id = new byte[12];
        Buffer.BlockCopy(prefixBytes, 0, id, 0, 4);
        var value = Number(input);
        for (var i = 11; i >= 4; i--, value >>= 8)
            id[i] = (byte)value;
        return id;
    }
}

// A reference to one document of a pool or, as `documents`, to all of them.
sealed class Reference
{
    readonly object[] pool;
    readonly int document;
    readonly Form form;
    readonly Action<object, Input>[] stampers;

    // Null if an operation has no such part.
    public static Reference Of(Message from, Pools pools, Form form) =>
        from == null ? null : new Reference(from, pools, form);

    Reference(Message from, Pools pools, Form form)
        : this(from.Items<Message>("stamps"), pools.Get((int)from.Number("pool"), form), form)
    {
        document = (int)from.Number("document");
    }

    public Reference(IEnumerable<Message> stamps, object[] pool, Form form)
    {
        this.pool = pool;
        this.form = form;
        stampers = stamps.Select(it => form.Stamper(new Stamp(it))).ToArray();
    }

    // A fresh copy, as an application would have made it.
    public object Make(Input input) => Make(document, input);

    public object Make(int number, Input input)
    {
        var fresh = form.Copy(pool[number % pool.Length]);
        foreach (var stamp in stampers)
            stamp(fresh, input);
        return fresh;
    }
}

// The pools of a phase, decoded into each form that its operations need.
sealed class Pools
{
    readonly List<byte[]>[] files;
    readonly Dictionary<string, object[]> decoded = new Dictionary<string, object[]>();

    public Pools(IEnumerable<string> paths) =>
        files = paths.Select(it => Split(File.ReadAllBytes(it))).ToArray();

    public object[] Get(int number, Form form)
    {
        var key = number + " " + form.GetType();
        if (!decoded.TryGetValue(key, out var documents))
            decoded[key] = documents = files[number].Select(form.Decode).ToArray();
        return documents;
    }

    static List<byte[]> Split(byte[] file)
    {
        var documents = new List<byte[]>();
        for (var at = 0; at < file.Length; at += documents[documents.Count - 1].Length)
        {
            var document = new byte[BitConverter.ToInt32(file, at)];
            Buffer.BlockCopy(file, at, document, 0, document.Length);
            documents.Add(document);
        }
        return documents;
    }
}

static class Hex
{
    public static byte[] Decode(string text)
    {
        var bytes = new byte[text.Length / 2];
        for (var i = 0; i < bytes.Length; i++)
            bytes[i] = Convert.ToByte(text.Substring(2 * i, 2), 16);
        return bytes;
    }

    public static string Encode(byte[] bytes) =>
        BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant();
}
