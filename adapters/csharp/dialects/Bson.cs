using System;
using System.Collections.Generic;
using System.Linq;
using MongoDB.Bson;
using MongoDB.Bson.Serialization;

// Documents of MongoDB.Bson, which all generations of the official driver share.
abstract class BsonDialect : Dialect
{
    static readonly Dictionary<string, Form> forms = new Dictionary<string, Form>
    {
        { "", new BsonForm() },
        {
            "small_document",
            new MappedForm<SmallDocument>(SmallDocument.Copy, SmallDocument.Stamper)
        },
        {
            "large_document",
            new MappedForm<LargeDocument>(LargeDocument.Copy, LargeDocument.Stamper)
        },
    };

    protected BsonDialect()
    {
#if !DRIVER3
        // Users of these versions set this if guids are binaries of subtype 4: the default is 3.
#pragma warning disable 618
        BsonDefaults.GuidRepresentation = GuidRepresentation.Standard;
#pragma warning restore 618
#endif
    }

    public override IReadOnlyDictionary<string, Form> Forms => forms;

    protected static string VersionOf(Type type) => type.Assembly.GetName().Version.ToString(3);
}

sealed class BsonForm : Form<BsonDocument>
{
    public override object Decode(byte[] bytes) => BsonSerializer.Deserialize<BsonDocument>(bytes);

    public override byte[] Encode(object document) => ((BsonDocument)document).ToBson();

    public override object Copy(object document) => CopyOf((BsonDocument)document);

    // DeepClone would share binaries.
    static BsonDocument CopyOf(BsonDocument from)
    {
        var fresh = new BsonDocument();
        for (var i = 0; i < from.ElementCount; i++)
        {
            var element = from.GetElement(i);
            fresh.Add(element.Name, CopyOf(element.Value));
        }
        return fresh;
    }

    static BsonValue CopyOf(BsonValue from)
    {
        switch (from.BsonType)
        {
            case BsonType.Document:
                return CopyOf((BsonDocument)from);
            case BsonType.Array:
                return new BsonArray(((BsonArray)from).Select(CopyOf));
            case BsonType.Binary:
                var binary = (BsonBinaryData)from;
                return BinaryOf((byte[])binary.Bytes.Clone(), binary.SubType);
            default:
                return from;
        }
    }

#if DRIVER3
    static BsonBinaryData BinaryOf(byte[] bytes, BsonBinarySubType subType) =>
        new BsonBinaryData(bytes, subType);
#else
#pragma warning disable 618
    static BsonBinaryData BinaryOf(byte[] bytes, BsonBinarySubType subType)
    {
        var guids = GuidRepresentation.Unspecified;
        if (subType == BsonBinarySubType.UuidStandard)
            guids = GuidRepresentation.Standard;
        else if (subType == BsonBinarySubType.UuidLegacy)
            guids = GuidRepresentation.CSharpLegacy;
        return new BsonBinaryData(bytes, subType, guids);
    }
#pragma warning restore 618
#endif

    public override Action<object, Input> Stamper(Stamp stamp)
    {
        var value = ValueOf(stamp);
        var last = stamp.Path[stamp.Path.Length - 1];
        if (stamp.Path.Length == 1)
            return (document, input) => ((BsonDocument)document)[last] = value(input);
        return (document, input) =>
        {
            var inner = (BsonValue)document;
            foreach (var name in stamp.Path.Take(stamp.Path.Length - 1))
                inner = inner is BsonArray it ? it[int.Parse(name)] : inner.AsBsonDocument[name];
            if (inner is BsonArray items)
                items[int.Parse(last)] = value(input);
            else
                ((BsonDocument)inner)[last] = value(input);
        };
    }

    static Func<Input, BsonValue> ValueOf(Stamp stamp)
    {
        switch (stamp.As)
        {
            case "int32":
                return input => new BsonInt32((int)stamp.Number(input));
            case "int64":
                return input => new BsonInt64(stamp.Number(input));
            case "double":
                return input => new BsonDouble(stamp.Number(input));
            case "date":
                return input => new BsonDateTime(stamp.Number(input));
            case "objectid":
                return input => new BsonObjectId(new ObjectId(stamp.ObjectId(input)));
            case "guid":
                return input => BinaryOf(input.Guid(), BsonBinarySubType.UuidStandard);
            default:
                return input => new BsonString(stamp.Text(input));
        }
    }

    public override void Read(object document, string sumField, ref Answer answer)
    {
        answer.Documents++;
        if (sumField == null || !((BsonDocument)document).TryGetValue(sumField, out var value))
            return;
        if (value.BsonType == BsonType.Int32 || value.BsonType == BsonType.Int64)
            answer.Sum += value.ToInt64();
    }
}

// Documents of a class that the driver maps by its conventions.
sealed class MappedForm<T> : Form<T>
{
    readonly Func<T, T> copy;
    readonly Func<Stamp, Action<T, Input>> stamper;

    public MappedForm(Func<T, T> copy, Func<Stamp, Action<T, Input>> stamper)
    {
        this.copy = copy;
        this.stamper = stamper;
    }

    public override object Decode(byte[] bytes) => BsonSerializer.Deserialize<T>(bytes);

    public override byte[] Encode(object document) => ((T)document).ToBson();

    public override object Copy(object document) => copy((T)document);

    public override Action<object, Input> Stamper(Stamp stamp)
    {
        var set = stamper(stamp);
        return (document, input) => set((T)document, input);
    }

    public override void Read(object document, string sumField, ref Answer answer)
    {
        answer.Documents++;
        if (sumField == "No" && document is SmallDocument small)
            answer.Sum += small.No;
    }
}

sealed class SmallDocument
{
    public ObjectId Id;
    public int No;
    public DateTime Established;

    public static SmallDocument Copy(SmallDocument from) => (SmallDocument)from.MemberwiseClone();

    public static Action<SmallDocument, Input> Stamper(Stamp stamp)
    {
        switch (stamp.Path[0])
        {
            case "_id":
                return (document, input) => document.Id = new ObjectId(stamp.ObjectId(input));
            case "No":
                return (document, input) => document.No = (int)stamp.Number(input);
            default:
                return (document, input) => document.Established = stamp.Date(input);
        }
    }
}

sealed class LargeDocument
{
    public ObjectId Id;
    public byte[] DataBytes;
    public DateTime Established;

    public static LargeDocument Copy(LargeDocument from) => new LargeDocument
    {
        Id = from.Id,
        DataBytes = (byte[])from.DataBytes.Clone(),
        Established = from.Established,
    };

    public static Action<LargeDocument, Input> Stamper(Stamp stamp)
    {
        if (stamp.Path[0] == "_id")
            return (document, input) => document.Id = new ObjectId(stamp.ObjectId(input));
        return (document, input) => document.Established = stamp.Date(input);
    }
}

// Reads the fields of a message; the dialects read the rest.
abstract class BsonTailed : Tailed
{
    public override object Field(object document, string name) =>
        ((BsonDocument)document).TryGetValue(name, out var value) ? value : null;
}
