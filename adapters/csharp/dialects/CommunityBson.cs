using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using MongoDB;
using MongoDB.Bson;
using MongoDB.Configuration;

// Documents of MongoDB-CSharp.
sealed class DocumentForm : Form<Document>
{
    const BinarySubtype Guid = (BinarySubtype)4;

    static readonly MongoDB.Serialization.ISerializationFactory factory =
        new MongoConfiguration().SerializationFactory;

    public override object Decode(byte[] bytes) => new BsonReader(
        new MemoryStream(bytes), factory.GetBsonReaderSettings(typeof(Document))).ReadObject();

    public override byte[] Encode(object document)
    {
        var to = new MemoryStream();
        var writer = new BsonWriter(to, factory.GetBsonWriterSettings(typeof(Document)));
        writer.WriteObject(document);
        writer.Flush();
        return to.ToArray();
    }

    // Oids, strings and numbers are immutable and shared.
    public override object Copy(object from)
    {
        if (from is Document document)
        {
            var fresh = new Document();
            foreach (var pair in document)
                fresh.Add(pair.Key, Copy(pair.Value));
            return fresh;
        }
        if (from is Binary binary)
            return new Binary((byte[])binary.Bytes.Clone(), binary.Subtype);
        if (from is IList list)
            return list.Cast<object>().Select(Copy).ToList();
        return from;
    }

    public override Action<object, Input> Stamper(Stamp stamp)
    {
        var value = ValueOf(stamp);
        var last = stamp.Path[stamp.Path.Length - 1];
        var outer = stamp.Path.Take(stamp.Path.Length - 1).ToArray();
        return (document, input) =>
        {
            foreach (var name in outer)
                document = document is IList it ? it[int.Parse(name)] : ((Document)document)[name];
            if (document is IList items)
                items[int.Parse(last)] = value(input);
            else
                ((Document)document)[last] = value(input);
        };
    }

    static Func<Input, object> ValueOf(Stamp stamp)
    {
        switch (stamp.As)
        {
            case "int32":
                return input => (int)stamp.Number(input);
            case "int64":
                return input => stamp.Number(input);
            case "double":
                return input => (double)stamp.Number(input);
            case "date":
                return input => stamp.Date(input);
            case "objectid":
                return input => new Oid(stamp.ObjectId(input));
            case "guid":
                return input => new Binary(input.Guid(), Guid);
            default:
                return input => stamp.Text(input);
        }
    }

    public override void Read(object document, string sumField, ref Answer answer)
    {
        answer.Documents++;
        if (sumField == null)
            return;
        var value = ((Document)document)[sumField];
        if (value is int || value is long)
            answer.Sum += Convert.ToInt64(value);
    }
}
