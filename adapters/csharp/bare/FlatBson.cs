using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

// One element of a document in memory, as BSON.
struct Element
{
    public byte Type;
    public string Name;
    public int At, Size; // offset and length of its value

    public static IEnumerable<Element> All(byte[] bytes, int document)
    {
        for (var at = document + 4; bytes[at] != 0;)
        {
            var end = Array.IndexOf(bytes, (byte)0, at + 1);
            var name = Encoding.UTF8.GetString(bytes, at + 1, end - at - 1);
            var element = new Element { Type = bytes[at], Name = name, At = end + 1 };
            element.Size = SizeOf(element.Type, bytes, element.At);
            at = element.At + element.Size;
            yield return element;
        }
    }

    // The element at the end of a path; its type is 0 if there is none.
    public static Element Find(byte[] bytes, params string[] path)
    {
        var found = new Element();
        foreach (var name in path)
        {
            found = All(bytes, found.At).FirstOrDefault(it => it.Name == name);
            if (found.Type == 0)
                break;
        }
        return found;
    }

    static int SizeOf(byte type, byte[] bytes, int at)
    {
        switch (type)
        {
            case 0x03:
            case 0x04:
                return BitConverter.ToInt32(bytes, at);
            case 0x02:
                return 4 + BitConverter.ToInt32(bytes, at);
            case 0x05:
                return 5 + BitConverter.ToInt32(bytes, at);
            case 0x07:
                return 12;
            case 0x08:
                return 1;
            case 0x0a:
                return 0;
            case 0x10:
                return 4;
            case 0x13:
                return 16;
            default:
                return 8;
        }
    }

    public long Number(byte[] bytes) =>
        Type == 0x10 ? BitConverter.ToInt32(bytes, At)
        : Type == 0x12 ? BitConverter.ToInt64(bytes, At)
        : Type == 0x01 ? (long)BitConverter.ToDouble(bytes, At) : 0;

    public byte[] Bytes(byte[] bytes) => bytes.Skip(At).Take(Size).ToArray();
}

// A document as it is written, element by element.
sealed class Writer
{
    readonly MemoryStream to = new MemoryStream();

    public Writer Add(byte type, string name, byte[] value)
    {
        to.WriteByte(type);
        var bytes = Encoding.UTF8.GetBytes(name + "\0");
        to.Write(bytes, 0, bytes.Length);
        to.Write(value, 0, value.Length);
        return this;
    }

    public Writer Add(string name, int value) => Add(0x10, name, BitConverter.GetBytes(value));

    public Writer Add(string name, long value) => Add(0x12, name, BitConverter.GetBytes(value));

    public Writer Add(string name, bool value) => Add(0x08, name, new[] { (byte)(value ? 1 : 0) });

    public Writer Add(string name, byte[] document) => Add(0x03, name, document);

    public Writer Add(string name, string value)
    {
        var bytes = Encoding.UTF8.GetBytes(value + "\0");
        return Add(0x02, name, BitConverter.GetBytes(bytes.Length).Concat(bytes).ToArray());
    }

    public Writer Add(string name, IEnumerable<byte[]> documents)
    {
        var items = new Writer();
        var number = 0;
        foreach (var document in documents)
            items.Add((number++).ToString(), document);
        return Add(0x04, name, items.Document());
    }

    public byte[] Document() =>
        BitConverter.GetBytes((int)to.Length + 5).Concat(to.ToArray()).Concat(new byte[1])
            .ToArray();
}

// A copy has the bytes of a document, and a stamp overwrites some.
sealed class FlatForm : Form<byte[]>
{
    public override object Decode(byte[] bytes) => bytes;

    public override byte[] Encode(object document) => (byte[])document;

    public override object Copy(object document) => ((byte[])document).Clone();

    public override Action<object, Input> Stamper(Stamp stamp) => (document, input) =>
    {
        var value = ValueOf(stamp, input);
        var slot = Element.Find((byte[])document, stamp.Path);
        // Strings and binaries keep their length, and a binary its subtype.
        var head = slot.Type == 0x02 ? 4 : slot.Type == 0x05 ? 5 : 0;
        Buffer.BlockCopy(value, 0, (byte[])document, slot.At + head, value.Length);
    };

    static byte[] ValueOf(Stamp stamp, Input input)
    {
        switch (stamp.As)
        {
            case "int32":
                return BitConverter.GetBytes((int)stamp.Number(input));
            case "double":
                return BitConverter.GetBytes((double)stamp.Number(input));
            case "int64":
            case "date":
                return BitConverter.GetBytes(stamp.Number(input));
            case "objectid":
                return stamp.ObjectId(input);
            case "guid":
                return input.Guid();
            default:
                return Encoding.UTF8.GetBytes(stamp.Text(input));
        }
    }

    public override void Read(object document, string sumField, ref Answer answer)
    {
        answer.Documents++;
        if (sumField == null)
            return;
        var slot = Element.Find((byte[])document, sumField);
        if (slot.Type == 0x10 || slot.Type == 0x12)
            answer.Sum += slot.Number((byte[])document);
    }
}
