using System;
using System.Collections.Generic;
using MongoDB.Bson;
using MongoDB.Driver;

// A capped collection of the driver from 2.7 on, and its tailable cursors.
sealed class Tailed2 : BsonTailed
{
    static readonly FindOptions<BsonDocument> options = new FindOptions<BsonDocument>
    {
        CursorType = CursorType.TailableAwait,
        MaxAwaitTime = TimeSpan.FromMilliseconds(100), // to see its other ends in time
    };

    readonly IMongoCollection<BsonDocument> collection;

    public Tailed2(IMongoCollection<BsonDocument> collection) => this.collection = collection;

    public override Tail Open() => new Tail2(collection.FindSync(new BsonDocument(), options));

    public override bool Has(object id) =>
        collection.Find(new BsonDocument("_id", (BsonValue)id)).FirstOrDefault() != null;
}

sealed class Tail2 : Tail
{
    readonly IAsyncCursor<BsonDocument> cursor;
    IEnumerator<BsonDocument> batch = new List<BsonDocument>().GetEnumerator();

    public Tail2(IAsyncCursor<BsonDocument> cursor) => this.cursor = cursor;

    public override object Next()
    {
        if (batch.MoveNext())
            return batch.Current;
        if (!cursor.MoveNext())
            throw new CursorDied();
        batch = cursor.Current.GetEnumerator();
        return batch.MoveNext() ? batch.Current : null;
    }

    public override void Dispose() => cursor.Dispose();
}
