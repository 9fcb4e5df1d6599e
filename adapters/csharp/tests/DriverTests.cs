#if !BARE && !COMMUNITY
using System;
using System.Linq;
using MongoDB.Bson;
using MongoDB.Driver;

// Tests of what is special to the driver: errors, options, types. They need no server.
static class DriverTests
{
    static readonly Driver driver = new Driver(new string[0]);

    static Client Open(params string[] options) => driver.Open(Tests.At(options), "mdyn_test");

    static bool AcknowledgedBy(Client client, string concern)
    {
        var json = "{\"kind\":\"insert_one\",\"collection\":\"items\"" + concern + "}";
        var operation = new Operation(JsonReader.Parse(json), new Pools(new string[0]), driver);
        return client.TargetOf(operation).Acknowledged;
    }

    public static void CopiesAreDeep()
    {
        var form = driver.Forms[""];
        var inner = new BsonDocument("bytes", new BsonBinaryData(new byte[] { 1 }));
        var pool = new BsonDocument("list", new BsonArray { inner });
        var copy = (BsonDocument)form.Copy(pool);
        var binary = copy["list"].AsBsonArray[0].AsBsonDocument["bytes"].AsBsonBinaryData;
        binary.Bytes[0] = 9;
        copy["list"].AsBsonArray.Clear();
        Tests.Equal(1, pool["list"].AsBsonArray.Count);
        Tests.Equal((byte)1, inner["bytes"].AsBsonBinaryData.Bytes[0]);
    }

    public static void MappedDocumentsAreStampedAndRead()
    {
        var form = driver.Forms["small_document"];
        var stamp = JsonReader.Parse("{\"path\":[\"No\"],\"as\":\"int32\",\"from\":\"key\"}");
        var bytes = new BsonDocument
        {
            { "_id", ObjectId.Empty },
            { "No", 1 },
            { "Established", DateTime.UtcNow },
        }.ToBson();
        var pool = new[] { form.Decode(bytes) };
        var made = new Reference(new[] { stamp }, pool, form).Make(0, new Input { Key = 7 });
        var answer = new Answer();
        form.Read(made, "No", ref answer);
        Tests.Equal(new[] { 1L, 7 }, new[] { answer.Documents, answer.Sum });
        Tests.Equal(bytes.Length, form.Encode(made).Length);
    }

    public static void OptionsWithoutEffectAreRefused()
    {
        foreach (var option in new[] { "noSuchOption=1", "maxPoolSize=many" })
            Tests.Equal("unsupported", Tests.CodeOfRefusal(() => Open(option)));
    }

    public static void ResolvedOptionsAreTheDriversOwn()
    {
        var usual = Open().Resolved;
        Tests.Equal(100, usual["max_pool_size"]);
        Tests.Equal("primary", usual["read_preference"]);
        Tests.Equal(false, usual["tls"]);
        var set = Open("maxPoolSize=7", "minPoolSize=2", "w=2", "journal=true",
            "readPreference=primaryPreferred").Resolved;
        Tests.Equal(new[] { 7, 2 }, new[] { set["max_pool_size"], set["min_pool_size"] });
        Tests.Equal(Json.Fields("w", 2, "j", true), set["write_concern"]);
        Tests.Equal("primaryPreferred", set["read_preference"]);
    }

    public static void ConcernsDecideWhetherAWriteIsAnswered()
    {
        Tests.Equal(false, Open("w=0").Acknowledged);
        Tests.Equal(true, Open("w=1").Acknowledged);
        Tests.Equal(true, AcknowledgedBy(Open("w=0"), ",\"write_concern\":{\"w\":\"majority\"}"));
        Tests.Equal(false, AcknowledgedBy(Open("w=1"), ",\"write_concern\":{\"w\":0}"));
        Tests.Equal(true, AcknowledgedBy(Open("w=1"), ",\"write_concern\":{\"j\":true}"));
    }

    public static void ErrorsAreNamedAsTheServerDoes()
    {
        foreach (var code in new[] { 0, 50, 96, 262 })
        {
            var answer = new BsonDocument { { "code", code }, { "codeName", "Name" } };
            Expect(ErrorOf(answer), code, "Name", code == 50 || code == 262);
        }
        Expect(new TimeoutException(), 0, "TimeoutException", true);
        Expect(new FormatException(), 0, "FormatException", false);
    }

    static void Expect(Exception error, int code, string name, bool timedOut)
    {
        var failure = driver.Describe(error);
        Tests.Equal(
            new object[] { code, name, timedOut },
            new object[] { failure.Code, failure.Name, failure.TimedOut });
    }

#if DRIVER1
    static Exception ErrorOf(BsonDocument answer) => new MongoQueryException("", answer);
#else
    static Exception ErrorOf(BsonDocument answer)
    {
        var server = new MongoDB.Driver.Core.Servers.ServerId(
            new MongoDB.Driver.Core.Clusters.ClusterId(), new System.Net.DnsEndPoint("a", 1));
        var connection = new MongoDB.Driver.Core.Connections.ConnectionId(server);
        return new MongoCommandException(connection, "", new BsonDocument(), answer);
    }
#endif
}
#endif
