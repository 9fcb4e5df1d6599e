using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using MongoDB;

// MongoDB-CSharp 0.90, the community's driver before the official one.
sealed class Driver : Dialect
{
    static readonly Dictionary<string, Form> forms =
        new Dictionary<string, Form> { { "", new DocumentForm() } };
    // The driver's names of options.
    static readonly Dictionary<string, string> names = new Dictionary<string, string>
    {
        { "maxPoolSize", "MaximumPoolSize" },
        { "minPoolSize", "MinimumPoolSize" },
    };

    public Driver(string[] arguments)
    {
    }

    public override string DriverName => "MongoDB-CSharp";
    public override string DriverVersion => typeof(Mongo).Assembly.GetName().Version.ToString();
    public override string UriKind => "plain";
    public override string[] Extras => new[] { "unacknowledged", "clients", "lazy_insert" };
    public override IReadOnlyDictionary<string, Form> Forms => forms;

    public override string[] Operations => new[]
    {
        "noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one",
        "count", "estimated_count", "replace_one", "find_one_and_update", "read_modify_write",
        "command", "drop",
    };

    public override Client Open(Address address, string database)
    {
        var w = address.Options.TryGetValue("w", out var asked) ? asked : "0";
        if (w != "0" && w != "1")
            throw new Refusal("unsupported", $"safemode is off or on, and w is '{w}'");
        try
        {
            return new CommunityClient(SettingsOf(address), database, w == "1");
        }
        catch (FormatException error) // it has not yet looked for a server
        {
            throw new Refusal("unsupported", error.Message);
        }
    }

    // The driver knows no option of a standard connection string.
    static string SettingsOf(Address address)
    {
        var pairs = address.Options
            .Where(it => it.Key != "serverSelectionTimeoutMS" && it.Key != "w")
            .Select(it => (names.TryGetValue(it.Key, out var own) ? own : it.Key) + "=" + it.Value)
            .ToList();
        pairs.Add("Servers=" + string.Join(",", address.Hosts));
        if (address.User != null)
            pairs.AddRange(new[] { "Username=" + address.User, "Password=" + address.Password });
        return string.Join(";", pairs);
    }

    public override Failure Describe(Exception error)
    {
        var answer = (error as MongoCommandException)?.Error ??
            (error as MongoOperationException)?.Error ?? new Document();
        return Failure.Of(error, answer.Get<int>("code"), answer.Get<string>("codeName"));
    }
}

// A Mongo is one connection, and safemode asks that connection, so threads do not share it.
sealed class CommunityClient : Client
{
    readonly string settings, database;
    readonly bool safe;
    readonly MongoConnectionStringBuilder parsed;
    // A thread takes back the connection that it used before, so its writes and reads keep their
    // order.
    readonly ConcurrentBag<Borrowed> idle = new ConcurrentBag<Borrowed>();

    public CommunityClient(string settings, string database, bool safe)
    {
        this.settings = settings;
        this.database = database;
        this.safe = safe;
        parsed = new MongoConnectionStringBuilder(settings);
        if (parsed.MaximumPoolSize < Math.Max(1, parsed.MinimumPoolSize))
            throw new FormatException("the size of the pool is 0, or below its least");
    }

    public override bool Acknowledged => safe;

    public override Dictionary<string, object> Resolved => Json.Fields(
        "max_pool_size", parsed.MaximumPoolSize,
        "min_pool_size", parsed.MinimumPoolSize,
        "write_concern", safe ? Json.Fields() : Json.Fields("w", 0),
        "read_concern", null,
        "compressors", new object[0],
        "retry_writes", false,
        "retry_reads", false,
        "tls", false,
        "commands", Json.Fields("count", "count"));

    public Borrowed Borrow() => idle.TryTake(out var it)
        ? it : new Borrowed(new Mongo(settings), database, idle);

    public override Target TargetOf(Operation operation) =>
        new CommunityTarget(this, operation);

    public override void Ping()
    {
        using (var own = Borrow())
        {
            own.Connect();
            own.Database.SendCommand("ping");
        }
    }

    public override void Close()
    {
        while (idle.TryTake(out var it))
            it.Mongo.Dispose();
    }
}

// A Mongo that only one operation uses.
sealed class Borrowed : IDisposable
{
    public readonly Mongo Mongo;
    public readonly IMongoDatabase Database;
    readonly ConcurrentBag<Borrowed> idle;
    bool connected;

    public Borrowed(Mongo mongo, string database, ConcurrentBag<Borrowed> idle)
    {
        Mongo = mongo;
        Database = mongo.GetDatabase(database);
        this.idle = idle;
    }

    public void Connect()
    {
        if (!connected)
            Mongo.Connect();
        connected = true;
    }

    // The driver does not reconnect after a server was away.
    public void Disconnect()
    {
        if (connected)
            Mongo.Disconnect();
        connected = false;
    }

    public void Dispose() => idle.Add(this);
}

sealed class CommunityTarget : Target
{
    const int OneBatch = -1;

    delegate Answer OwnCall(IMongoCollection<Document> collection, Given given);

    readonly CommunityClient client;
    readonly Operation operation;
    readonly UpdateFlags flags;
    readonly OwnCall call;

    public CommunityTarget(CommunityClient client, Operation operation)
    {
        this.client = client;
        this.operation = operation;
        Acknowledged = client.Acknowledged;
        flags = operation.Upsert ? UpdateFlags.Upsert : UpdateFlags.None;
        call = CallOf(operation.Kind);
        Call = given => CallOn((Borrowed)given.Own, given);
    }

    public override void Ready(Given given) => given.Own = client.Borrow();

    Answer CallOn(Borrowed own, Given given)
    {
        try
        {
            own.Connect();
            return call(own.Database.GetCollection<Document>(operation.Collection), given);
        }
        catch (MongoConnectionException)
        {
            own.Disconnect();
            throw;
        }
    }

    OwnCall CallOf(string kind)
    {
        switch (kind)
        {
            case "insert_one":
                return (collection, given) =>
                {
                    collection.Insert(given.Document);
                    return Written(collection, 1);
                };
            case "insert_many":
                return (collection, given) =>
                {
                    collection.Insert((IEnumerable<Document>)given.Documents);
                    return Written(collection, given.Count);
                };
            case "find_one":
                return FindOne;
            case "find":
                if (operation.BatchSize > 0)
                    return FindInBatches;
                return (collection, given) => Find(collection, given, given.Limit);
            case "update_one":
                return UpdateOne;
            case "replace_one":
                return (collection, given) =>
                {
                    collection.Update(given.Document, given.Filter, flags);
                    return Written(collection, null);
                };
            case "delete_one":
                return (collection, given) =>
                {
                    collection.Remove(given.Filter);
                    return Written(collection, null);
                };
            case "find_one_and_update":
                return (collection, given) =>
                    Read(collection.FindAndModify(given.Update, given.Filter));
            case "read_modify_write":
                return (collection, given) => ReadModifyWrite(given,
                    it => FindOne(collection, it), it => UpdateOne(collection, it));
            case "count":
                return (collection, given) => Count(collection, given.Filter);
            case "estimated_count":
                return (collection, given) => Count(collection, new Document());
            case "command":
                return (collection, given) =>
                    Answer.Of(collection.Database.SendCommand((Document)given.Command).Count);
            case "drop":
                return Drop;
            default:
                throw new NotSupportedException(kind);
        }
    }

    // The command that safemode sends. The driver's exceptions say no more, and its calls do not
    // return the numbers.
    Answer Written(IMongoCollection<Document> collection, int? documents)
    {
        if (!Acknowledged)
            return new Answer();
        var last = collection.Database.GetLastError();
        if (last["err"] is string error)
            throw new MongoOperationException(error, last);
        return Answer.Of(documents ?? Convert.ToInt64(last["n"]));
    }

    Answer FindOne(IMongoCollection<Document> collection, Given given) =>
        Find(collection, given, OneBatch);

    Answer Find(IMongoCollection<Document> collection, Given given, int limit)
    {
        var answer = new Answer();
        using (var cursor = collection.Find(given.Filter, given.Projection).Limit(limit))
        {
            foreach (var document in cursor.Documents)
                Read(document, ref answer);
        }
        return answer;
    }

    // The driver's limit is the number of documents in a batch; a cursor that is kept continues
    // after it.
    Answer FindInBatches(IMongoCollection<Document> collection, Given given)
    {
        var answer = new Answer();
        using (var cursor = collection.Find(given.Filter, given.Projection))
        {
            cursor.KeepCursor(true).Limit(operation.BatchSize);
            do
            {
                foreach (var document in cursor.Documents)
                {
                    Read(document, ref answer);
                    if (answer.Documents == given.Limit)
                        return answer;
                }
            }
            while (cursor.Id != 0);
        }
        return answer;
    }

    Answer UpdateOne(IMongoCollection<Document> collection, Given given)
    {
        collection.Update(given.Update, given.Filter, flags);
        return Written(collection, null);
    }

    // Its Count expects a double: servers have returned an integer since 2012.
    Answer Count(IMongoCollection<Document> collection, object filter)
    {
        var command = new Document { { "count", operation.Collection }, { "query", filter } };
        return Answer.Of(Convert.ToInt64(collection.Database.SendCommand(command)["n"]));
    }

    Answer Drop(IMongoCollection<Document> collection, Given given)
    {
        try
        {
            collection.Database.Metadata.DropCollection(operation.Collection);
        }
        catch (MongoCommandException error) when (error.Message == "ns not found")
        {
        }
        return Answer.Of(1);
    }

    Answer Read(Document document)
    {
        var answer = new Answer();
        if (document != null)
            Read(document, ref answer);
        return answer;
    }

    void Read(Document document, ref Answer answer)
    {
        // The driver does not check whether a query has failed.
        if (document.TryGetValue("$err", out var error))
            throw new MongoOperationException(error.ToString(), document);
        operation.Form.Read(document, operation.SumField, ref answer);
    }
}
