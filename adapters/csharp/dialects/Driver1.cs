using System;
using System.Collections.Generic;
using System.Linq;
using Mongodyno.Harness;
using MongoDB.Bson;
using MongoDB.Driver;
using Builders = MongoDB.Driver.Builders;

// `api=server` calls what is obsolete from 1.7 on; that is its point.
#pragma warning disable 618

namespace Mongodyno
{
    /// <summary>
    /// The official driver 1.x: MongoServer, and from 1.7 on MongoClient. Built without CLIENT it
    /// is written for 1.6, which has neither MongoClient nor WriteConcern; with BULK for 1.9 and later.
    /// </summary>
    sealed class Driver : BsonDialect
    {
#if CLIENT
        readonly bool asServer;

        public Driver(string[] arguments) => asServer = arguments.Contains("server");
#else
        public Driver(string[] arguments)
        {
        }
#endif

        public override string DriverName => "mongocsharpdriver";
        public override string DriverVersion => VersionOf(typeof(MongoServer));
        public override string UriKind => "plain";
        public override string[] Extras => new[] { "write_concern", "read_preference", "unacknowledged", "unordered", "clients", "lazy_insert" };

        public override string[] Operations => new[]
        {
            "noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one", "count", "estimated_count",
            "replace_one", "find_one_and_update", "read_modify_write", "command", "drop",
#if BULK
            "aggregate", "bulk_write",
#endif
        };

        public override Client Connect(Address address, string database)
        {
            var server = ServerOf(address);
            try
            {
                var made = server.GetDatabase(database);
                made.RunCommand("ping");
                return new Connected(server, made);
            }
            catch (MongoAuthenticationException error)
            {
                throw new Refusal("auth", error.Message);
            }
            catch (Exception error)
            {
                throw new Refusal("connect", error.Message);
            }
        }

        MongoServer ServerOf(Address address)
        {
            try
            {
                var url = new MongoUrl(address.Uri);
#if !CLIENT
                // This version passes over what it does not know.
                var known = ("connect connecttimeoutms fsync guids ipv6 j journal maxidletimems maxlifetimems maxpoolsize " +
                    "minpoolsize readpreference readpreferencetags replicaset safe secondaryacceptablelatencyms " +
                    "serverselectiontimeoutms slaveok sockettimeoutms ssl sslverifycertificate uuidrepresentation w " +
                    "waitqueuemultiple waitqueuesize waitqueuetimeoutms wtimeout wtimeoutms").Split(' ');
                var unknown = address.Options.Keys.FirstOrDefault(it => !known.Contains(it.ToLowerInvariant()));
                if (unknown != null)
                    throw new FormatException($"the driver does not know the option '{unknown}'");
                var settings = url.ToServerSettings().Clone(); // it is frozen
                SetConnectTimeout(address, it => settings.ConnectTimeout = it);
                return MongoServer.Create(settings);
#else
                if (asServer)
                {
                    var settings = MongoServerSettings.FromUrl(url);
                    SetConnectTimeout(address, it => settings.ConnectTimeout = it);
                    return MongoServer.Create(settings);
                }
                var clientSettings = MongoClientSettings.FromUrl(url);
                SetConnectTimeout(address, it => clientSettings.ConnectTimeout = it);
                return new MongoClient(clientSettings).GetServer();
#endif
            }
            catch (Exception error) when (error is FormatException || error is ArgumentException)
            {
                throw new Refusal("unsupported", error.Message);
            }
        }

        static void SetConnectTimeout(Address address, Action<TimeSpan> set)
        {
            if (address.Options.TryGetValue("serverSelectionTimeoutMS", out var text))
                set(TimeSpan.FromMilliseconds(long.Parse(text)));
        }

        public override Failure Describe(Exception error)
        {
#if BULK
            if (error is BulkWriteException bulk)
                return Failure.Of(error, bulk.WriteErrors.Count > 0 ? bulk.WriteErrors[0].Code : bulk.WriteConcernError.Code, null);
            if (error is ExecutionTimeoutException) // the driver's own name of code 50
                return Failure.Of(error, 50, null);
#endif
            if (error is MongoCommandException command && command.CommandResult != null)
                return Told(error, command.CommandResult.Response);
            return Told(error, (error as MongoQueryException)?.QueryResult);
        }

        static Failure Told(Exception error, BsonDocument answer)
        {
            var code = answer != null && answer.Contains("code") ? answer["code"].ToInt32() : 0;
            var name = answer != null && answer.Contains("codeName") ? answer["codeName"].AsString : null;
            return Failure.Of(error, code, name);
        }

        sealed class Connected : Harness.Client
        {
            readonly MongoServer server;
            readonly MongoDatabase database;

            public Connected(MongoServer server, MongoDatabase database)
            {
                this.server = server;
                this.database = database;
            }

#if !CLIENT
            public override bool Acknowledged => database.Settings.SafeMode.Enabled;

            object WriteConcern
            {
                get
                {
                    var mode = database.Settings.SafeMode;
                    if (!mode.Enabled)
                        return Json.Fields("w", 0);
                    var told = mode.WMode != null ? Json.Fields("w", mode.WMode) : mode.W > 0 ? Json.Fields("w", mode.W) : Json.Fields();
                    if (mode.Journal)
                        told["j"] = true;
                    return told;
                }
            }
#else
            public override bool Acknowledged => database.Settings.WriteConcern.Enabled;

            object WriteConcern
            {
                get
                {
                    var concern = database.Settings.WriteConcern;
                    if (!concern.Enabled)
                        return Json.Fields("w", 0);
                    var told = concern.W == null ? Json.Fields()
                        : concern.W is WriteConcern.WCount count ? Json.Fields("w", count.Value) : Json.Fields("w", concern.W.ToString());
                    if (concern.Journal != null)
                        told["j"] = concern.Journal;
                    return told;
                }
            }
#endif

            public override Dictionary<string, object> Resolved => Json.Fields(
                "max_pool_size", server.Settings.MaxConnectionPoolSize,
                "min_pool_size", server.Settings.MinConnectionPoolSize,
                "write_concern", WriteConcern,
                "read_concern", null,
                "read_preference", NameOf(server.Settings.ReadPreference),
                "compressors", new object[0],
                "retry_writes", false,
                "retry_reads", false,
                "tls", server.Settings.UseSsl,
                "commands", Json.Fields("count", "count"));

            static string NameOf(ReadPreference preference)
            {
                var name = (preference ?? ReadPreference.Primary).ReadPreferenceMode.ToString();
                return char.ToLowerInvariant(name[0]) + name.Substring(1);
            }

            public override Target TargetOf(Operation operation)
            {
                if (operation.Form is MappedForm<SmallDocument>)
                    return new Target1<SmallDocument>(database, operation);
                if (operation.Form is MappedForm<LargeDocument>)
                    return new Target1<LargeDocument>(database, operation);
                return new Target1<BsonDocument>(database, operation);
            }

            public override void Close() => server.Disconnect();
        }
    }

    sealed class Target1<T> : Target
        where T : class
    {
        readonly MongoDatabase database;
        readonly MongoCollection<T> collection;
        readonly Operation operation;
        readonly UpdateFlags updateFlags;
        readonly MongoInsertOptions insertOptions;

        public Target1(MongoDatabase database, Operation operation)
        {
            this.database = database;
            this.operation = operation;
            var settings = database.CreateCollectionSettings<T>(operation.Collection ?? "unused");
#if !CLIENT
            if (operation.W != null || operation.Journal != null)
                settings.SafeMode = new SafeMode(operation.W != "0") { Journal = operation.Journal == true };
            if (operation.W != null && operation.W != "0" && operation.W != "1")
                SetW(settings.SafeMode, operation.W);
            Acknowledged = settings.SafeMode.Enabled;
#else
            if (operation.W != null || operation.Journal != null)
            {
                settings.WriteConcern = new WriteConcern { Journal = operation.Journal };
                settings.WriteConcern.W = operation.W == null ? 1 : WriteConcern.WValue.Parse(operation.W);
            }
            Acknowledged = settings.WriteConcern.Enabled;
#endif
            if (operation.ReadPreference != null)
                settings.ReadPreference = new ReadPreference((ReadPreferenceMode)Enum.Parse(typeof(ReadPreferenceMode), operation.ReadPreference, true));
            collection = database.GetCollection<T>(settings);
            updateFlags = operation.Upsert ? UpdateFlags.Upsert : UpdateFlags.None;
            insertOptions = new MongoInsertOptions { Flags = operation.Ordered ? InsertFlags.None : InsertFlags.ContinueOnError };
            Call = CallOf(operation.Kind);
        }

#if !CLIENT
        static void SetW(SafeMode mode, string w)
        {
            if (int.TryParse(w, out var nodes))
                mode.W = nodes;
            else
                mode.WMode = w;
        }
#endif

        /// <summary>The driver's calls want documents of types of their own.</summary>
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

        Call CallOf(string kind)
        {
            switch (kind)
            {
                case "insert_one":
                    return given => Done(collection.Insert((T)given.Document));
                case "insert_many":
                    return given =>
                    {
                        collection.InsertBatch((IEnumerable<T>)given.Documents, insertOptions);
                        return Answer.Of(given.Count);
                    };
                case "find_one":
                    return FindOne;
                case "find":
                    return Find;
                case "update_one":
                    return UpdateOne;
                case "replace_one":
                    return given => Affected(collection.Update((IMongoQuery)given.Filter, Builders.Update.Replace((T)given.Document), updateFlags));
                case "delete_one":
                    return given => Affected(collection.Remove((IMongoQuery)given.Filter, RemoveFlags.Single));
                case "find_one_and_update":
                    return given => Read(collection.FindAndModify((IMongoQuery)given.Filter, null, (IMongoUpdate)given.Update).GetModifiedDocumentAs<T>());
                case "read_modify_write":
                    return given => ReadModifyWrite(given, FindOne, UpdateOne);
                case "count":
                    return given => Answer.Of(collection.Count((IMongoQuery)given.Filter));
                case "estimated_count":
                    return given => Answer.Of(collection.Count());
                case "command":
                    return given => Done(database.RunCommand((IMongoCommand)given.Command));
                case "drop":
                    return given => Done(collection.Drop());
#if BULK
                case "aggregate":
                    return given => ReadAll(collection.Aggregate(new AggregateArgs
                    {
                        Pipeline = ((BsonDocument)given.Pipeline)[0].AsBsonArray.Cast<BsonDocument>(),
                        OutputMode = AggregateOutputMode.Cursor,
                    }).Cast<object>());
                case "bulk_write":
                    return BulkWrite;
#endif
                default:
                    return null; // a part of a bulk
            }
        }

        static Answer Done(object result) => Answer.Of(1);

#if !CLIENT
        static Answer Affected(SafeModeResult result) => Answer.Of(result == null ? 0 : result.DocumentsAffected);
#else
        static Answer Affected(WriteConcernResult result) => Answer.Of(result == null ? 0 : result.DocumentsAffected);
#endif

        Answer Read(T document)
        {
            var answer = new Answer();
            if (document != null)
                operation.Form.Read(document, operation.SumField, ref answer);
            return answer;
        }

        Answer ReadAll(IEnumerable<object> documents)
        {
            var answer = new Answer();
            foreach (var document in documents)
                operation.Form.Read(document, operation.SumField, ref answer);
            return answer;
        }

        Answer FindOne(Given given)
        {
            if (given.Projection == null)
                return Read(collection.FindOne((IMongoQuery)given.Filter));
            return Read(collection.Find((IMongoQuery)given.Filter).SetFields((IMongoFields)given.Projection).SetLimit(-1).FirstOrDefault());
        }

        Answer Find(Given given)
        {
            var cursor = collection.Find((IMongoQuery)given.Filter);
            if (given.Limit > 0)
                cursor.SetLimit(given.Limit);
            if (operation.BatchSize > 0)
                cursor.SetBatchSize(operation.BatchSize);
            if (given.Projection != null)
                cursor.SetFields((IMongoFields)given.Projection);
            return ReadAll(cursor);
        }

        Answer UpdateOne(Given given) =>
            Affected(collection.Update((IMongoQuery)given.Filter, (IMongoUpdate)given.Update, updateFlags));

#if BULK
        Answer BulkWrite(Given given)
        {
            var bulk = operation.Ordered ? collection.InitializeOrderedBulkOperation() : collection.InitializeUnorderedBulkOperation();
            foreach (Action<BulkWriteOperation> part in given.Parts)
                part(bulk);
            var result = bulk.Execute();
            return Answer.Of(!result.IsAcknowledged ? 0
                : result.InsertedCount + result.MatchedCount + result.Upserts.Count + result.DeletedCount);
        }

        public override object Part(Given given)
        {
            Ready(given);
            var filter = (IMongoQuery)given.Filter;
            var update = (IMongoUpdate)given.Update;
            var document = (T)given.Document;
            switch (operation.Kind)
            {
                case "insert_one":
                    return (Action<BulkWriteOperation>)(bulk => bulk.Insert(document));
                case "delete_one":
                    return (Action<BulkWriteOperation>)(bulk => bulk.Find(filter).RemoveOne());
                case "update_one":
                    return (Action<BulkWriteOperation>)(bulk =>
                    {
                        if (operation.Upsert)
                            bulk.Find(filter).Upsert().UpdateOne(update);
                        else
                            bulk.Find(filter).UpdateOne(update);
                    });
                default:
                    return (Action<BulkWriteOperation>)(bulk =>
                    {
                        if (operation.Upsert)
                            bulk.Find(filter).Upsert().ReplaceOne(document);
                        else
                            bulk.Find(filter).ReplaceOne(document);
                    });
            }
        }
#endif
    }
}
