using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Net.Sockets;

namespace Mongodyno.Harness
{
    /// <summary>All that the harness asks of a driver. Each build of the adapter has one, named Driver.</summary>
    abstract class Dialect
    {
        public abstract string DriverName { get; }
        public abstract string DriverVersion { get; }
        public abstract string[] Operations { get; }
        public abstract string[] Extras { get; }
        public virtual string[] Alters => new string[0];

        /// <summary>`standard` or `plain`: whether the driver knows serverSelectionTimeoutMS.</summary>
        public abstract string UriKind { get; }

        /// <summary>Forms of documents by name; the driver's own is "".</summary>
        public abstract IReadOnlyDictionary<string, Form> Forms { get; }

        /// <summary>A client that has been proved by a ping; throws a Refusal.</summary>
        public abstract Client Connect(Address address, string database);

        public abstract Failure Describe(Exception error);
    }

    /// <summary>One entry of `open`.</summary>
    sealed class Address
    {
        public readonly string Uri, User, Password;
        public readonly string[] Hosts;
        public readonly Dictionary<string, string> Options;

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

        public virtual void Close()
        {
        }
    }

    /// <summary>Where an operation goes, with its concerns and options, and how it is called.</summary>
    class Target
    {
        public Call Call;
        public bool Acknowledged = true;

        /// <summary>Made into the driver's own types, where it has some for filters and the like.</summary>
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

        /// <summary>One part of a bulk, as the driver's bulk_write takes it.</summary>
        public virtual object Part(Given given) => throw new NotSupportedException();
    }

    /// <summary>The measured part: the driver's call as its users write it, its answer consumed.</summary>
    delegate Answer Call(Given given);

    /// <summary>All that one call is given; it exists before the first clock reading.</summary>
    sealed class Given
    {
        public object Document, Filter, Projection, Update, Pipeline, Command;
        public IEnumerable Documents; // of the form's type
        public List<object> Parts;
        public int Limit, Count;

        /// <summary>A batch is not kept while the worker sleeps.</summary>
        public void Forget()
        {
            Document = Filter = Projection = Update = Pipeline = Command = null;
            Documents = null;
            Parts = null;
        }
    }

    /// <summary>Documents that were read or counted, or that a write was about.</summary>
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

        /// <summary>The server's name of a code, if it tells one; else that of the exception's class.</summary>
        public static Failure Of(Exception error, int code, string name) => new Failure
        {
            Code = code,
            Name = string.IsNullOrEmpty(name) ? error.GetType().Name : name,
            TimedOut = code == 50 || code == 262 || (code == 0 && WaitedTooLong(error)),
        };

        static bool WaitedTooLong(Exception error)
        {
            var socket = error as SocketException;
            return error is TimeoutException || (socket != null && socket.SocketErrorCode == SocketError.TimedOut) ||
                (error.InnerException != null && WaitedTooLong(error.InnerException));
        }
    }

    /// <summary>An `error` with a code of its own; every other exception is `internal`.</summary>
    sealed class Refusal : Exception
    {
        public readonly string Code;

        public Refusal(string code, string message)
            : base(message)
        {
            Code = code;
        }
    }

    /// <summary>Documents of one type: the driver's own, or a class that it maps.</summary>
    abstract class Form
    {
        public abstract object Decode(byte[] bytes);
        public abstract byte[] Encode(object document);
        public abstract object Copy(object document);

        /// <summary>Puts a stamp's value into a document.</summary>
        public abstract Action<object, Input> Stamper(Stamp stamp);

        /// <summary>Adds a document that was read, and the integer in its field.</summary>
        public abstract void Read(object document, string sumField, ref Answer answer);

        /// <summary>A list of exactly that type, for the driver's calls are generic.</summary>
        public abstract IList NewList(int capacity);

        public abstract IEnumerable Lazily(IEnumerable<object> documents);
    }

    abstract class Form<T> : Form
    {
        public override IList NewList(int capacity) => new List<T>(capacity);

        public override IEnumerable Lazily(IEnumerable<object> documents) => documents.Cast<T>();
    }
}
