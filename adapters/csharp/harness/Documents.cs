using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Mongodyno.Harness
{
    /// <summary>The values that stamps may put into one document.</summary>
    sealed class Input
    {
        static readonly DateTime unixEpoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

        public long Key, Shift, Sequence, Producer, MadeNs, TimeMs;
        public byte[] Guids = new byte[16]; // the schedule's bytes, where its guid begins at GuidAt
        public int GuidAt;
        public bool Live; // the clocks are read when a stamp wants them

        public long Value(string from)
        {
            switch (from)
            {
                case "key":
                    return Key + Shift;
                case "sequence":
                    return Sequence;
                case "producer":
                    return Producer;
                case "made_ns":
                    return Live ? Machine.Now() : MadeNs;
                default:
                    return Live ? (DateTime.UtcNow - unixEpoch).Ticks / TimeSpan.TicksPerMillisecond : TimeMs;
            }
        }

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
        readonly string from, prefix;
        readonly int width;
        readonly long add;
        readonly byte[] prefixBytes;

        public Stamp(Message from)
        {
            Path = from.Items<string>("path").ToArray();
            As = from.Text("as");
            this.from = from.Text("from");
            prefix = from.Text("prefix") ?? "";
            width = (int)from.Number("width");
            add = from.Number("add");
            if (As == "objectid")
                prefixBytes = Hex.Decode(prefix);
        }

        public long Number(Input input) => input.Value(from) + add;

        public string Text(Input input)
        {
            if (As == "string")
                return prefix + Number(input).ToString(CultureInfo.InvariantCulture).PadLeft(width, '0');
            return Hex.Encode(input.Guid()).Insert(20, "-").Insert(16, "-").Insert(12, "-").Insert(8, "-");
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

    /// <summary>A reference to one document of a pool or, as `documents`, to all of them.</summary>
    sealed class Reference
    {
        readonly object[] pool;
        readonly int document;
        readonly Form form;
        readonly Action<object, Input>[] stampers;

        /// <summary>Null where an operation has no such part.</summary>
        public static Reference Of(Message from, Pools pools, Form form) => from == null ? null : new Reference(from, pools, form);

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

        /// <summary>A fresh copy, as an application would have made it.</summary>
        public object Make(Input input) => Make(document, input);

        public object Make(int number, Input input)
        {
            var fresh = form.Copy(pool[number % pool.Length]);
            foreach (var stamp in stampers)
                stamp(fresh, input);
            return fresh;
        }
    }

    /// <summary>The pools of a phase, decoded into each form that its operations want.</summary>
    sealed class Pools
    {
        readonly List<byte[]>[] files;
        readonly Dictionary<KeyValuePair<int, Form>, object[]> decoded = new Dictionary<KeyValuePair<int, Form>, object[]>();

        public Pools(IEnumerable<string> paths) => files = paths.Select(it => Split(File.ReadAllBytes(it))).ToArray();

        public object[] Get(int number, Form form)
        {
            var wanted = new KeyValuePair<int, Form>(number, form);
            if (!decoded.TryGetValue(wanted, out var documents))
                decoded[wanted] = documents = files[number].Select(form.Decode).ToArray();
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
                bytes[i] = byte.Parse(text.Substring(2 * i, 2), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            return bytes;
        }

        public static string Encode(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant();
    }
}
