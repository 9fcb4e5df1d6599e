using System;
using System.Collections.Generic;
using System.Linq;
using MongoDB.Bson;
using MongoDB.Driver;
using Builders = MongoDB.Driver.Builders;

// A collection of the driver 1.x, and its calls.
sealed class Target1<T> : Target
    where T : class
{
    readonly MongoDatabase database;
    readonly MongoCollection<T> collection;
    readonly Operation operation;
    readonly UpdateFlags updateFlags;
    readonly MongoInsertOptions insertOptions = new MongoInsertOptions();

    public Target1(MongoDatabase database, Operation operation)
    {
        this.database = database;
        this.operation = operation;
#pragma warning disable 618 // 1.8 has another way, which 1.6 lacks
        var settings = database.CreateCollectionSettings<T>(operation.Collection ?? "unused");
        if (operation.W != null || operation.Journal != null)
            Api.SetConcern(settings, operation);
        Acknowledged = Api.IsAcknowledged(settings);
        if (operation.ReadPreference != null)
            settings.ReadPreference = new ReadPreference(
                Parse<ReadPreferenceMode>(operation.ReadPreference));
        collection = database.GetCollection<T>(settings);
#pragma warning restore 618
        updateFlags = operation.Upsert ? UpdateFlags.Upsert : UpdateFlags.None;
        if (!operation.Ordered)
            insertOptions.Flags = InsertFlags.ContinueOnError;
        Call = CallOf(operation.Kind);
    }

    // The driver's calls take documents of special types.
    public override void Ready(Given given)
    {
        if (given.Filter != null)
            given.Filter = new QueryDocument((IEnumerable<BsonElement>)given.Filter);
        if (given.Update != null)
            given.Update = new UpdateDocument((IEnumerable<BsonElement>)given.Update);
        if (given.Projection != null)
            given.Projection = new FieldsDocument((IEnumerable<BsonElement>)given.Projection);
        if (given.Command != null)
            given.Command = new CommandDocument((IEnumerable<BsonElement>)given.Command);
    }

    static IMongoQuery Filter(Given given) => (IMongoQuery)given.Filter;

    static IMongoUpdate Update(Given given) => (IMongoUpdate)given.Update;

    Call CallOf(string kind)
    {
        switch (kind)
        {
            case "insert_one":
                return given => Done(collection.Insert((T)given.Document));
            case "insert_many":
                return InsertMany;
            case "find_one":
                return FindOne;
            case "find":
                return Find;
            case "update_one":
                return UpdateOne;
            case "replace_one":
                return given => Api.Affected(collection.Update(
                    Filter(given), Builders.Update.Replace((T)given.Document), updateFlags));
            case "delete_one":
                return given => Api.Affected(collection.Remove(Filter(given), RemoveFlags.Single));
            case "find_one_and_update":
                return FindAndModify;
            case "read_modify_write":
                return given => ReadModifyWrite(given, FindOne, UpdateOne);
            case "count":
                return given => Answer.Of(collection.Count(Filter(given)));
            case "estimated_count":
                return given => Answer.Of(collection.Count());
            case "command":
                return given => Done(database.RunCommand((IMongoCommand)given.Command));
            case "drop":
                return given => Done(collection.Drop());
#if BULK
            case "aggregate":
                return Aggregate;
            case "bulk_write":
                return BulkWrite;
#endif
            default:
                throw new NotSupportedException(kind);
        }
    }

    static Answer Done(object result) => Answer.Of(1);

    Answer InsertMany(Given given)
    {
        collection.InsertBatch((IEnumerable<T>)given.Documents, insertOptions);
        return Answer.Of(given.Count);
    }

    Answer FindOne(Given given)
    {
        if (given.Projection == null)
            return Read(collection.FindOne(Filter(given)));
        var cursor = collection.Find(Filter(given)).SetFields((IMongoFields)given.Projection);
        return Read(cursor.SetLimit(-1).FirstOrDefault()); // a single batch
    }

    Answer Find(Given given)
    {
        var cursor = collection.Find(Filter(given));
        if (given.Limit > 0)
            cursor.SetLimit(given.Limit);
        if (operation.BatchSize > 0)
            cursor.SetBatchSize(operation.BatchSize);
        if (given.Projection != null)
            cursor.SetFields((IMongoFields)given.Projection);
        var answer = new Answer();
        foreach (var document in cursor)
            operation.Form.Read(document, operation.SumField, ref answer);
        return answer;
    }

    Answer UpdateOne(Given given) =>
        Api.Affected(collection.Update(Filter(given), Update(given), updateFlags));

    Answer FindAndModify(Given given)
    {
#pragma warning disable 618 // 1.9 has arguments in place of parameters
        var result = collection.FindAndModify(Filter(given), null, Update(given));
#pragma warning restore 618
        return Read(result.GetModifiedDocumentAs<T>());
    }

    Answer Read(T document)
    {
        var answer = new Answer();
        if (document != null)
            operation.Form.Read(document, operation.SumField, ref answer);
        return answer;
    }

#if BULK
    Answer Aggregate(Given given)
    {
        var answer = new Answer();
        var stages = ((BsonDocument)given.Pipeline)[0].AsBsonArray.Cast<BsonDocument>();
        var arguments = new AggregateArgs
        {
            Pipeline = stages,
            OutputMode = AggregateOutputMode.Cursor,
        };
        foreach (var document in collection.Aggregate(arguments))
            operation.Form.Read(document, operation.SumField, ref answer);
        return answer;
    }

    Answer BulkWrite(Given given)
    {
        var bulk = operation.Ordered
            ? collection.InitializeOrderedBulkOperation()
            : collection.InitializeUnorderedBulkOperation();
        foreach (Action<BulkWriteOperation> part in given.Parts)
            part(bulk);
        var result = bulk.Execute();
        if (!result.IsAcknowledged)
            return new Answer();
        return Answer.Of(result.InsertedCount + result.MatchedCount + result.Upserts.Count +
            result.DeletedCount);
    }

    public override object Part(Given given)
    {
        Ready(given);
        var filter = Filter(given);
        var update = Update(given);
        var document = (T)given.Document;
        Action<BulkWriteOperation> part;
        if (operation.Kind == "insert_one")
            part = bulk => bulk.Insert(document);
        else if (operation.Kind == "delete_one")
            part = bulk => bulk.Find(filter).RemoveOne();
        else if (operation.Kind == "update_one" && operation.Upsert)
            part = bulk => bulk.Find(filter).Upsert().UpdateOne(update);
        else if (operation.Kind == "update_one")
            part = bulk => bulk.Find(filter).UpdateOne(update);
        else if (operation.Upsert)
            part = bulk => bulk.Find(filter).Upsert().ReplaceOne(document);
        else
            part = bulk => bulk.Find(filter).ReplaceOne(document);
        return part;
    }
#endif
}
