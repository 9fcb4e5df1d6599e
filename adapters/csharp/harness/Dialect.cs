using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Net.Sockets;

// Everything that the harness expects of a driver. Each build has one, named Driver.
abstract class Dialect
{
    public abstract string DriverName { get; }
    public abstract string DriverVersion { get; }
    public abstract string[] Operations { get; }
    public abstract string[] Extras { get; }
    public virtual string[] Alters => new string[0];

    // CPU time to take one message, ns; null: no consumer.
    public virtual long? ConsumerNs => null;

    // `standard` or `plain`: whether the driver knows serverSelectionTimeoutMS.
    public abstract string UriKind { get; }

    // Forms of documents by name; the driver's own is "".
    public abstract IReadOnlyDictionary<string, Form> Forms { get; }

    // Refuses what the driver does not accept; it has not yet looked for a server.
    public abstract Client Open(Address address, string database);

    public abstract Failure Describe(Exception error);

    public virtual bool IsRefusedCredential(Exception error) => false;
}

// One entry of `open`.
sealed class Address
{
    public readonly string Uri, User, Password;
    public readonly string[] Hosts;
    public readonly Dictionary<string, string> Options;

    // serverSelectionTimeoutMS with `plain`: the time to connect.
    public TimeSpan? TimeToConnect => Options.TryGetValue("serverSelectionTimeoutMS", out var text)
        ? TimeSpan.FromMilliseconds(int.Parse(text)) : (TimeSpan?)null;

    public Address(Message from)
    {
        Uri = from.Text("uri");
        Hosts = from.Items<string>("hosts").ToArray();
        User = from.Text("user");
        Password = from.Text("password");
        Options = from.Object("options").ToDictionary(it => it.Key, it => (string)it.Value);
    }
}

abstract class Client
{
    public abstract bool Acknowledged { get; }
    public abstract Dictionary<string, object> Resolved { get; }
    public abstract Target TargetOf(Operation operation);

    // A consumer's collection, if the dialect has one.
    public virtual Tailed Tailed(string collection) => throw new NotSupportedException();

    // Asks the server for a ping.
    public abstract void Ping();

    public virtual void Close()
    {
    }
}

// The target of an operation, with its concerns and options, and how it is called.
class Target
{
    public Call Call;
    public bool Acknowledged = true;

    protected static TEnum Parse<TEnum>(string name) =>
        (TEnum)Enum.Parse(typeof(TEnum), name, true);

    // Converts documents into the driver's own types, if it has some for filters and the like.
    public virtual void Ready(Given given)
    {
    }

    protected Answer ReadModifyWrite(Given given, Call find, Call update)
    {
        var answer = find(given);
        if (answer.Documents != 1)
            return answer;
        var updated = update(given);
        if (Acknowledged)
            answer.Documents = updated.Documents;
        return answer;
    }

    // One part of a bulk, as the driver's bulk_write takes it.
    public virtual object Part(Given given) => throw new NotSupportedException();
}

// The measured part: the driver's call as its users write it, its answer consumed.
delegate Answer Call(Given given);

// Everything that one call is given; it exists before the first reading of the clock.
sealed class Given
{
    public object Document, Filter, Projection, Update, Pipeline, Command;
    public IEnumerable Documents; // of the form's type
    public List<object> Parts;
    public int Limit, Count;
    public IDisposable Own; // what the dialect lends to this call only

    // A batch is not kept while the worker sleeps.
    public void Forget()
    {
        Own?.Dispose();
        Own = null;
        Document = Filter = Projection = Update = Pipeline = Command = null;
        Documents = null;
        Parts = null;
    }
}

// Documents that were read or counted, or that a write changed.
struct Answer
{
    public long Documents, Sum;

    public static Answer Of(long documents) => new Answer { Documents = documents };
}

struct Failure
{
    public int Code;
    public string Name;
    public bool TimedOut;

    // The server's name of a code, if it reports one; otherwise the exception's class.
    public static Failure Of(Exception error, int code, string name) => new Failure
    {
        Code = code,
        Name = string.IsNullOrEmpty(name) ? error.GetType().Name : name,
        TimedOut = code == 50 || code == 262 || (code == 0 && WaitedTooLong(error)),
    };

    static bool WaitedTooLong(Exception error)
    {
        var socket = error as SocketException;
        return error is TimeoutException ||
            (socket != null && socket.SocketErrorCode == SocketError.TimedOut) ||
            (error.InnerException != null && WaitedTooLong(error.InnerException));
    }
}

// An `error` with its own code; every other exception is `internal`.
sealed class Refusal : Exception
{
    public readonly string Code;

    public Refusal(string code, string message)
        : base(message)
    {
        Code = code;
    }
}

// Documents of one type: the driver's own, or a class that it maps.
abstract class Form
{
    public abstract object Decode(byte[] bytes);
    public abstract byte[] Encode(object document);
    public abstract object Copy(object document);

    // Puts a stamp's value into a document.
    public abstract Action<object, Input> Stamper(Stamp stamp);

    // Adds a document that was read, and the integer in its field.
    public abstract void Read(object document, string sumField, ref Answer answer);

    // A list of exactly that type, because the driver's calls are generic.
    public abstract IList NewList(int capacity);

    public abstract IEnumerable Lazily(IEnumerable<object> documents);
}

abstract class Form<T> : Form
{
    public override IList NewList(int capacity) => new List<T>(capacity);

    public override IEnumerable Lazily(IEnumerable<object> documents) => documents.Cast<T>();
}
