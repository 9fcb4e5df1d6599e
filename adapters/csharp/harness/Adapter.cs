using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

// Reads messages and answers them.
sealed class Adapter
{
    const int Protocol = 2, MessageChars = 4096;

    readonly Dialect dialect;
    readonly BlockingCollection<string> lines = new BlockingCollection<string>();
    readonly Stream answers = Console.OpenStandardOutput();
    volatile bool inTurn;
    Client[] clients;
    string deal;
    IRole phase;

    Adapter(Dialect dialect) => this.dialect = dialect;

    static void Main(string[] arguments) => new Adapter(new Driver(arguments)).Run();

    void Run()
    {
        Machine.OnTerminate(() =>
        {
            if (!inTurn)
                Machine.Leave();
        });
        Worker.Begin(ReadLines);
        foreach (var line in lines.GetConsumingEnumerable())
        {
            if (Answer(line) == "close")
                break;
        }
    }

    void ReadLines()
    {
        using (var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false)))
        {
            for (var line = input.ReadLine(); line != null; line = input.ReadLine())
                lines.Add(line);
        }
        lines.CompleteAdding();
        if (inTurn)
            Machine.Leave();
    }

    // Answers one line; returns the type of what was asked.
    string Answer(string line)
    {
        string type = null;
        Dictionary<string, object> answer;
        try
        {
            var message = JsonReader.Parse(line);
            type = message.Text("type");
            answer = Handle(type, message);
        }
        catch (Refusal refusal)
        {
            answer = Error(refusal.Code, refusal.Message);
        }
        catch (Exception error)
        {
            answer = Error("internal", error.Message);
        }
        var text = Json.Write(answer, new StringBuilder("\x1e")).Append('\n').ToString();
        var bytes = Encoding.UTF8.GetBytes(text);
        answers.Write(bytes, 0, bytes.Length);
        answers.Flush();
        return type;
    }

    static Dictionary<string, object> Error(string code, string message) =>
        Json.Fields("type", "error", "code", code, "message", Cut(message));

    public static string Cut(string message) =>
        message.Length > MessageChars ? message.Substring(0, MessageChars) : message;

    Dictionary<string, object> Handle(string type, Message message)
    {
        switch (type)
        {
            case "hello":
                return Hello(message);
            case "clock":
                return Json.Fields("type", "clock", "now_ns", Machine.Now());
            case "open":
                return Open(message);
            case "prepare":
                phase = message.Object("consumer") == null
                    ? (IRole)new Phase(message, dialect, clients, deal)
                    : new Consumer(message, dialect, clients[0]);
                return Json.Fields("type", "ready");
            case "turn":
                return Turn(message.Number("until_ns"));
            case "end":
                var ended = phase.End();
                phase = null; // its pools are garbage from here on
                return ended;
            case "render":
                return Render(message);
            case "close":
                Close(clients);
                return Json.Fields("type", "closed");
            default:
                throw new Refusal("protocol", $"unknown type '{type}'");
        }
    }

    Dictionary<string, object> Turn(long until)
    {
        inTurn = true;
        if (lines.IsAddingCompleted)
            Machine.Leave();
        var done = phase.Turn(until);
        inTurn = false;
        if (Machine.Stopped) // a turn that was stopped has no answer
            Machine.Leave();
        return done;
    }

    Dictionary<string, object> Hello(Message message)
    {
        if (message.Number("protocol") != Protocol)
            throw new Refusal("protocol", $"this adapter speaks protocol {Protocol}");
        Machine.SetEpoch(long.Parse(message.Text("epoch_ns")));
        var flags = Environment.GetEnvironmentVariables().Keys.Cast<string>()
            .Where(it => it.StartsWith("DOTNET_") || it.StartsWith("MONO_"))
            .Select(it => it + "=" + Environment.GetEnvironmentVariable(it));
        return new Dictionary<string, object>
        {
            { "type", "hello" },
            { "protocol", Protocol },
            { "adapter", "csharp" },
            { "driver", Json.Fields(
                "name", dialect.DriverName, "version", dialect.DriverVersion, "native", null) },
            { "runtime", Json.Fields(
                "name", Machine.RuntimeName, "version", Machine.RuntimeVersion, "flags", flags) },
            { "clock", Json.Fields(
                "source", "CLOCK_MONOTONIC", "resolution_ns", Machine.ResolutionNs) },
            { "capabilities", Json.Fields(
                "operations", dialect.Operations,
                "pacing", Phase.Pacings,
                "extras", dialect.Extras,
                "shapes", dialect.Forms.Keys.Where(it => it != ""),
                "alters", dialect.Alters,
                "uri", dialect.UriKind,
                "consumer_ns", dialect.ConsumerNs,
                "concurrency", Json.Fields("kind", "threads", "max", null, "threads", null)) },
        };
    }

    Dictionary<string, object> Open(Message message)
    {
        var opened = new List<Client>();
        try
        {
            foreach (var entry in message.Items<Message>("clients"))
            {
                opened.Add(dialect.Open(new Address(entry), message.Text("database")));
                Prove(opened.Last());
            }
        }
        catch
        {
            Close(opened);
            throw;
        }
        clients = opened.ToArray();
        deal = message.Text("deal");
        return Json.Fields("type", "opened",
            "acknowledged", clients[0].Acknowledged, "resolved", clients[0].Resolved);
    }

    void Prove(Client client)
    {
        try
        {
            client.Ping();
        }
        catch (Exception error)
        {
            var code = dialect.IsRefusedCredential(error) ? "auth" : "connect";
            throw new Refusal(code, error.Message);
        }
    }

    static void Close(IEnumerable<Client> clients)
    {
        foreach (var client in clients ?? Enumerable.Empty<Client>())
            client.Close();
    }

    Dictionary<string, object> Render(Message message)
    {
        var given = message.Object("input");
        var guid = given.Text("guid");
        var input = new Input
        {
            Key = given.Number("key"),
            Shift = given.Number("shift"),
            Sequence = given.Number("sequence"),
            Producer = given.Number("producer"),
            MadeNs = given.Number("made_ns"),
            TimeMs = given.Number("time_ms"),
        };
        if (guid != null)
            input.Guids = Hex.Decode(guid);
        var form = dialect.Forms[""];
        var template = new[] { form.Decode(Hex.Decode(message.Text("template"))) };
        var reference = new Reference(message.Items<Message>("stamps"), template, form);
        var rendered = form.Encode(reference.Make(0, input));
        return Json.Fields("type", "rendered", "bson", Hex.Encode(rendered));
    }
}
