using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Threading;

// Minimal code in place of a driver, with what the contract requires of one, so that all vectors
// can be replayed on the harness without a driver. It is not for measurements.
sealed class Driver : Dialect
{
    static readonly Dictionary<string, Form> forms =
        new Dictionary<string, Form> { { "", new FlatForm() } };

    public Driver(string[] arguments)
    {
    }

    public override string DriverName => "bare";
    public override string DriverVersion => "1";
    public override string UriKind => "plain";
    public override string[] Extras => new[] { "unordered", "clients", "lazy_insert" };
    public override IReadOnlyDictionary<string, Form> Forms => forms;

    public override string[] Operations => new[]
    {
        "noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one",
        "count", "read_modify_write",
    };

    public override Client Open(Address address, string database)
    {
        var unknown = address.Options.Keys.FirstOrDefault(it => it != "serverSelectionTimeoutMS");
        if (unknown != null)
            throw new Refusal("unsupported", $"there is no option '{unknown}'");
        return new BareClient(address.Hosts[0], database);
    }

    public override Failure Describe(Exception error) =>
        Failure.Of(error, (error as ServerError)?.Code ?? 0, null);
}

sealed class ServerError : Exception
{
    public readonly int Code;

    public ServerError(int code)
        : base($"the server's code is {code}") => Code = code;
}

// Each thread has its own connection.
sealed class BareClient : Client
{
    const int HeaderBytes = 16, Message = 2013, BodyAt = 5;

    readonly string database;
    readonly ThreadLocal<NetworkStream> streams;

    public BareClient(string host, string database)
    {
        this.database = database;
        var parts = host.Split(':');
        streams = new ThreadLocal<NetworkStream>(() =>
            new TcpClient(parts[0], int.Parse(parts[1])) { NoDelay = true }.GetStream());
    }

    public override bool Acknowledged => true;
    public override Dictionary<string, object> Resolved => Json.Fields();
    public override Target TargetOf(Operation operation) => new BareTarget(this, operation);

    public override void Ping() => Run(new Writer().Add("ping", 1));

    // Runs a command and returns its answer.
    public byte[] Run(Writer command)
    {
        var document = command.Add("$db", database).Document();
        var request = new MemoryStream();
        var writer = new BinaryWriter(request);
        writer.Write(HeaderBytes + BodyAt + document.Length);
        writer.Write(0L); // the request's number, and the one that it answers
        writer.Write(Message);
        writer.Write(0); // flags
        writer.Write((byte)0); // one document follows
        writer.Write(document);
        streams.Value.Write(request.ToArray(), 0, (int)request.Length);

        var reader = new BinaryReader(streams.Value);
        var length = BitConverter.ToInt32(reader.ReadBytes(HeaderBytes), 0);
        reader.ReadBytes(BodyAt);
        var answer = reader.ReadBytes(length - HeaderBytes - BodyAt);
        Check(answer, Element.Find(answer, "ok").Number(answer) == 1);
        return answer;
    }

    static void Check(byte[] answer, bool ok)
    {
        var path = ok ? new[] { "writeErrors", "0", "code" } : new[] { "code" };
        var code = Element.Find(answer, path);
        if (!ok || code.Type != 0)
            throw new ServerError((int)code.Number(answer));
    }
}

sealed class BareTarget : Target
{
    readonly BareClient client;
    readonly Operation operation;

    public BareTarget(BareClient client, Operation operation)
    {
        this.client = client;
        this.operation = operation;
        switch (operation.Kind)
        {
            case "insert_one":
                Call = given => Insert(new[] { (byte[])given.Document });
                break;
            case "insert_many":
                Call = given => Insert((IEnumerable<byte[]>)given.Documents);
                break;
            case "find_one":
                Call = given => Find(given, 1);
                break;
            case "find":
                Call = given => Find(given, given.Limit);
                break;
            case "update_one":
                Call = Update;
                break;
            case "delete_one":
                Call = Delete;
                break;
            case "count":
                Call = given => Counted(Command("count").Add("query", (byte[])given.Filter));
                break;
            default:
                Call = given => ReadModifyWrite(given, it => Find(it, 1), Update);
                break;
        }
    }

    Writer Command(string name) => new Writer().Add(name, operation.Collection);

    Answer Counted(Writer command)
    {
        var answer = client.Run(command);
        return Answer.Of(Element.Find(answer, "n").Number(answer));
    }

    Answer Counted(string name, string items, Writer item) =>
        Counted(Command(name).Add(items, new[] { item.Document() }));

    Answer Insert(IEnumerable<byte[]> documents) =>
        Counted(Command("insert").Add("ordered", operation.Ordered).Add("documents", documents));

    Answer Update(Given given) => Counted("update", "updates", new Writer()
        .Add("q", (byte[])given.Filter).Add("u", (byte[])given.Update)
        .Add("upsert", operation.Upsert));

    Answer Delete(Given given) => Counted("delete", "deletes", new Writer()
        .Add("q", (byte[])given.Filter).Add("limit", 1));

    Answer Find(Given given, int limit)
    {
        var command = Command("find").Add("filter", (byte[])given.Filter).Add("limit", limit);
        if (operation.BatchSize > 0)
            command.Add("batchSize", operation.BatchSize);
        if (given.Projection != null)
            command.Add("projection", (byte[])given.Projection);
        var reply = client.Run(command);
        var answer = new Answer();
        Read(reply, "firstBatch", ref answer);
        while (CursorOf(reply) != 0)
        {
            var next = new Writer().Add("getMore", CursorOf(reply));
            reply = client.Run(next.Add("collection", operation.Collection));
            Read(reply, "nextBatch", ref answer);
        }
        return answer;
    }

    static long CursorOf(byte[] reply) => Element.Find(reply, "cursor", "id").Number(reply);

    void Read(byte[] reply, string batch, ref Answer answer)
    {
        foreach (var document in Element.All(reply, Element.Find(reply, "cursor", batch).At))
            operation.Form.Read(document.Bytes(reply), operation.SumField, ref answer);
    }
}
