using System;
using System.Collections.Generic;
using System.Linq;
using MongoDB.Bson;
using MongoDB.Driver;
using MongoDB.Driver.Core.Configuration;

// The official driver from 2.7 on: IMongoCollection, called synchronously.
sealed class Driver : BsonDialect
{
    static readonly string[] operations =
    {
        "noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one",
        "count", "estimated_count", "replace_one", "find_one_and_update", "read_modify_write",
        "bulk_write", "aggregate", "command", "drop",
    };

    public Driver(string[] arguments)
    {
    }

    public override string DriverName => "MongoDB.Driver";
    public override string DriverVersion => VersionOf(typeof(MongoClient));
    public override string UriKind => "standard";
    public override long? ConsumerNs => 2000;
    public override string[] Operations => operations;
    public override string[] Extras => new[]
    {
        "write_concern", "read_concern", "read_preference", "unacknowledged", "unordered",
        "clients",
#if LAZY
        "lazy_insert",
#endif
    };

    public override Client Open(Address address, string database)
    {
        var settings = SettingsOf(address.Uri);
        return new Client2(settings, new MongoClient(settings).GetDatabase(database));
    }

    public override bool IsRefusedCredential(Exception error) =>
        error is MongoAuthenticationException;

    static MongoClientSettings SettingsOf(string uri)
    {
        try
        {
            // The driver ignores options that it does not know.
            var unknown = new ConnectionString(uri).AllUnknownOptionNames.FirstOrDefault();
            if (unknown != null)
                throw new FormatException($"the driver does not know the option '{unknown}'");
            return MongoClientSettings.FromConnectionString(uri);
        }
        catch (Exception error) // it has not yet looked for a server
        {
            throw new Refusal("unsupported", error.Message);
        }
    }

    public override Failure Describe(Exception error)
    {
        if (error is MongoWriteException write && write.WriteError != null)
            return Failure.Of(error, write.WriteError.Code, null);
        if (error is MongoBulkWriteException bulk && bulk.WriteErrors.Count > 0)
            return Failure.Of(error, bulk.WriteErrors[0].Code, null);
        var late = (error as MongoWriteException)?.WriteConcernError ??
            (error as MongoBulkWriteException)?.WriteConcernError;
        if (late != null)
            return Failure.Of(error, late.Code, late.CodeName);
        if (error is MongoCommandException command)
            return Failure.Of(error, command.Code, command.CodeName);
        // The driver's name of code 50.
        return Failure.Of(error, error is MongoExecutionTimeoutException ? 50 : 0, null);
    }
}

sealed class Client2 : Client
{
    readonly MongoClientSettings settings;
    readonly IMongoDatabase database;

    public Client2(MongoClientSettings settings, IMongoDatabase database)
    {
        this.settings = settings;
        this.database = database;
    }

    public override bool Acknowledged => settings.WriteConcern.IsAcknowledged;

    public override Dictionary<string, object> Resolved => Json.Fields(
        "max_pool_size", settings.MaxConnectionPoolSize,
        "min_pool_size", settings.MinConnectionPoolSize,
        "write_concern", Told(settings.WriteConcern),
        "read_concern", settings.ReadConcern.Level?.ToString().ToLowerInvariant(),
        "read_preference", Json.Camel(settings.ReadPreference.ReadPreferenceMode),
        "compressors", settings.Compressors.Select(it => it.Type.ToString().ToLowerInvariant()),
        "retry_writes", settings.RetryWrites,
        "retry_reads", settings.RetryReads,
        "tls", settings.UseTls,
        "commands", Json.Fields("count", "aggregate"));

    static Dictionary<string, object> Told(WriteConcern concern)
    {
        var told = Json.Fields();
        if (concern.W is WriteConcern.WCount count)
            told["w"] = count.Value;
        else if (concern.W != null)
            told["w"] = concern.W.ToString();
        if (concern.Journal != null)
            told["j"] = concern.Journal;
        return told;
    }

    public override void Ping() => database.RunCommand<BsonDocument>(new BsonDocument("ping", 1));

    public override Tailed Tailed(string collection) =>
        new Tailed2(database.GetCollection<BsonDocument>(collection));

    public override Target TargetOf(Operation operation)
    {
        if (operation.Form is MappedForm<SmallDocument>)
            return new Target2<SmallDocument>(database, operation);
        if (operation.Form is MappedForm<LargeDocument>)
            return new Target2<LargeDocument>(database, operation);
        return new Target2<BsonDocument>(database, operation);
    }
}

sealed class Target2<T> : Target
    where T : class
{
    readonly IMongoCollection<T> collection;
    readonly Operation operation;
    readonly InsertManyOptions insertOptions;
    readonly UpdateOptions updateOptions;
    readonly ReplaceOptions replaceOptions;
    readonly FindOptions findOptions;
    readonly BulkWriteOptions bulkOptions;

    public Target2(IMongoDatabase database, Operation operation)
    {
        this.operation = operation;
        collection = database.GetCollection<T>(operation.Collection ?? "unused");
        if (operation.W != null || operation.Journal != null)
        {
            var w = operation.W == null ? null : WriteConcern.WValue.Parse(operation.W);
            var concern = new WriteConcern(w, journal: operation.Journal);
            collection = collection.WithWriteConcern(concern);
        }
        if (operation.ReadConcern != null)
        {
            var level = Parse<ReadConcernLevel>(operation.ReadConcern);
            collection = collection.WithReadConcern(new ReadConcern(level));
        }
        if (operation.ReadPreference != null)
        {
            var mode = Parse<ReadPreferenceMode>(operation.ReadPreference);
            collection = collection.WithReadPreference(new ReadPreference(mode));
        }
        Acknowledged = collection.Settings.WriteConcern.IsAcknowledged;
        insertOptions = new InsertManyOptions { IsOrdered = operation.Ordered };
        updateOptions = new UpdateOptions { IsUpsert = operation.Upsert };
        replaceOptions = new ReplaceOptions { IsUpsert = operation.Upsert };
        bulkOptions = new BulkWriteOptions { IsOrdered = operation.Ordered };
        findOptions = new FindOptions();
        if (operation.BatchSize > 0)
            findOptions.BatchSize = operation.BatchSize;
        Call = CallOf(operation.Kind);
    }

    Call CallOf(string kind)
    {
        switch (kind)
        {
            case "insert_one":
                return given =>
                {
                    collection.InsertOne((T)given.Document);
                    return Answer.Of(1);
                };
            case "insert_many":
                return given =>
                {
                    collection.InsertMany((IEnumerable<T>)given.Documents, insertOptions);
                    return Answer.Of(given.Count);
                };
            case "find_one":
                return FindOne;
            case "find":
                return given => ReadAll(Finding(given).Limit(given.Limit).ToCursor());
            case "update_one":
                return UpdateOne;
            case "replace_one":
                return ReplaceOne;
            case "delete_one":
                return given =>
                {
                    var result = collection.DeleteOne(Filter(given));
                    return Answer.Of(Acknowledged ? result.DeletedCount : 0);
                };
            case "find_one_and_update":
                return given => Read(
                    collection.FindOneAndUpdate(Filter(given), (BsonDocument)given.Update));
            case "read_modify_write":
                return given => ReadModifyWrite(given, FindOne, UpdateOne);
            case "bulk_write":
                return BulkWrite;
            case "count":
                return given => Answer.Of(collection.CountDocuments(Filter(given)));
            case "estimated_count":
                return given => Answer.Of(collection.EstimatedDocumentCount());
            case "aggregate":
                return given =>
                {
                    var stages = ((BsonDocument)given.Pipeline)[0].AsBsonArray.Cast<BsonDocument>();
                    return ReadAll(collection.Aggregate<T>(stages.ToArray()));
                };
            case "command":
                return given =>
                {
                    collection.Database.RunCommand<BsonDocument>((BsonDocument)given.Command);
                    return Answer.Of(1);
                };
            case "drop":
                return given =>
                {
                    collection.Database.DropCollection(operation.Collection);
                    return Answer.Of(1);
                };
            default:
                throw new NotSupportedException(kind);
        }
    }

    static FilterDefinition<T> Filter(Given given) => (BsonDocument)given.Filter;

    IFindFluent<T, T> Finding(Given given)
    {
        var finding = collection.Find(Filter(given), findOptions);
        if (given.Projection == null)
            return finding;
        return finding.Project<T>((BsonDocument)given.Projection);
    }

    Answer FindOne(Given given) => Read(Finding(given).FirstOrDefault());

    Answer UpdateOne(Given given)
    {
        var result = collection.UpdateOne(Filter(given), (BsonDocument)given.Update, updateOptions);
        return Answer.Of(Acknowledged ? Matched(result.MatchedCount, result.UpsertedId) : 0);
    }

    Answer ReplaceOne(Given given)
    {
        var result = collection.ReplaceOne(Filter(given), (T)given.Document, replaceOptions);
        return Answer.Of(Acknowledged ? Matched(result.MatchedCount, result.UpsertedId) : 0);
    }

    static long Matched(long matched, BsonValue upserted) => matched + (upserted == null ? 0 : 1);

    Answer BulkWrite(Given given)
    {
        var result = collection.BulkWrite(given.Parts.Cast<WriteModel<T>>(), bulkOptions);
        if (!Acknowledged)
            return new Answer();
        return Answer.Of(result.InsertedCount + result.MatchedCount + result.Upserts.Count +
            result.DeletedCount);
    }

    public override object Part(Given given)
    {
        switch (operation.Kind)
        {
            case "insert_one":
                return new InsertOneModel<T>((T)given.Document);
            case "update_one":
                return new UpdateOneModel<T>(Filter(given), (BsonDocument)given.Update)
                {
                    IsUpsert = operation.Upsert,
                };
            case "replace_one":
                return new ReplaceOneModel<T>(Filter(given), (T)given.Document)
                {
                    IsUpsert = operation.Upsert,
                };
            default:
                return new DeleteOneModel<T>(Filter(given));
        }
    }

    Answer Read(T document)
    {
        var answer = new Answer();
        if (document != null)
            operation.Form.Read(document, operation.SumField, ref answer);
        return answer;
    }

    Answer ReadAll(IAsyncCursor<T> cursor)
    {
        var answer = new Answer();
        using (cursor)
        {
            while (cursor.MoveNext())
            {
                foreach (var document in cursor.Current)
                    operation.Form.Read(document, operation.SumField, ref answer);
            }
        }
        return answer;
    }
}
