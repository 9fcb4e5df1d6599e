using System;
using System.Collections.Generic;
using System.Linq;
using MongoDB.Bson;
using MongoDB.Driver;

// The official driver 1.x. Api16.cs or Api17.cs has what differs; BULK is set from 1.9 on.
sealed class Driver : BsonDialect
{
    readonly bool asServer;

    public Driver(string[] arguments) => asServer = arguments.Contains("server");

    public override string DriverName => "mongocsharpdriver";
    public override string DriverVersion => VersionOf(typeof(MongoServer));
    public override string UriKind => "plain";
    public override long? ConsumerNs => 5000;

    public override string[] Extras => new[]
    {
        "write_concern", "read_preference", "unacknowledged", "unordered", "clients", "lazy_insert",
    };

    public override string[] Operations => new[]
    {
        "noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one",
        "count", "estimated_count", "replace_one", "find_one_and_update", "read_modify_write",
        "command", "drop",
#if BULK
        "aggregate", "bulk_write",
#endif
    };

    public override Client Open(Address address, string database)
    {
        try
        {
            return new Client1(Api.ServerOf(address, asServer), database);
        }
        catch (Exception error) // it has not yet looked for a server
        {
            throw new Refusal("unsupported", error.Message);
        }
    }

    public override bool IsRefusedCredential(Exception error) =>
        error is MongoAuthenticationException;

    public override Failure Describe(Exception error)
    {
#if BULK
        if (error is BulkWriteException bulk && bulk.WriteErrors.Count > 0)
            return Failure.Of(error, bulk.WriteErrors[0].Code, null);
        if (error is BulkWriteException late)
            return Failure.Of(error, late.WriteConcernError.Code, null);
        if (error is ExecutionTimeoutException) // the driver's name of code 50
            return Failure.Of(error, 50, null);
#endif
        var answer = (error as MongoCommandException)?.CommandResult?.Response ??
            (error as MongoQueryException)?.QueryResult ?? new BsonDocument();
        var code = answer.Contains("code") ? answer["code"].ToInt32() : 0;
        var name = answer.Contains("codeName") ? answer["codeName"].AsString : null;
        return Failure.Of(error, code, name);
    }
}

sealed class Client1 : Client
{
    readonly MongoServer server;
    readonly MongoDatabase database;

    public Client1(MongoServer server, string database)
    {
        this.server = server;
        this.database = server.GetDatabase(database);
    }

    public override bool Acknowledged => Api.IsAcknowledged(database);

    ReadPreference ReadFrom => server.Settings.ReadPreference ?? ReadPreference.Primary;

    public override Dictionary<string, object> Resolved => Json.Fields(
        "max_pool_size", server.Settings.MaxConnectionPoolSize,
        "min_pool_size", server.Settings.MinConnectionPoolSize,
        "write_concern", Api.ConcernOf(database),
        "read_concern", null,
        "read_preference", Json.Camel(ReadFrom.ReadPreferenceMode),
        "compressors", new object[0],
        "retry_writes", false,
        "retry_reads", false,
        "tls", server.Settings.UseSsl,
        "commands", Json.Fields("count", "count"));

    public override Tailed Tailed(string collection) =>
        new Tailed1(database.GetCollection<BsonDocument>(collection));

    public override Target TargetOf(Operation operation)
    {
        if (operation.Form is MappedForm<SmallDocument>)
            return new Target1<SmallDocument>(database, operation);
        if (operation.Form is MappedForm<LargeDocument>)
            return new Target1<LargeDocument>(database, operation);
        return new Target1<BsonDocument>(database, operation);
    }

    public override void Ping() => database.RunCommand("ping");

    public override void Close() => server.Disconnect();
}
