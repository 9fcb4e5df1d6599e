using System.Collections.Generic;
using MongoDB.Bson;
using MongoDB.Driver;

// A capped collection of the driver 1.x, and its tailable cursors. One await lasts as long as the
// server wants, some 1 s: these versions cannot limit it.
sealed class Tailed1 : BsonTailed
{
    readonly MongoCollection<BsonDocument> collection;

    public Tailed1(MongoCollection<BsonDocument> collection) => this.collection = collection;

    public override Tail Open()
    {
        var cursor = collection.FindAll();
        cursor.SetFlags(QueryFlags.TailableCursor | QueryFlags.AwaitData);
        // The enumerator of `foreach` would wait from 1.8 on until a document comes.
        return new Tail1(new MongoCursorEnumerator<BsonDocument>(cursor));
    }

    public override bool Has(object id) =>
        collection.FindOne(new QueryDocument("_id", (BsonValue)id)) != null;
}

sealed class Tail1 : Tail
{
    readonly MongoCursorEnumerator<BsonDocument> cursor;

    public Tail1(MongoCursorEnumerator<BsonDocument> cursor) => this.cursor = cursor;

    public override object Next()
    {
        if (cursor.MoveNext())
            return cursor.Current;
        if (cursor.IsDead)
            throw new CursorDied();
        return null;
    }

    public override void Dispose() => cursor.Dispose();
}
