using System;
using System.Collections.Generic;
using System.Threading;

// Reads the messages of a capped collection through a tailable cursor, in the program's main
// thread.
sealed class Consumer : IRole
{
    const int ReopenMs = 10;

    readonly Dialect dialect;
    readonly Tailed collection;
    readonly string markerField;
    readonly long expected, idleNs, failuresMax;
    readonly Errors errors = new Errors();
    readonly SampleFile file;
    readonly Samples samples;
    Tail tail; // null: the last one died
    object last; // the _id read last; null: before the oldest document
    long messages, failures, cursors, lost; // failures: in a row
    bool exhausted;

    public Consumer(Message from, Dialect dialect, Client client)
    {
        if (dialect.ConsumerNs == null)
            throw new Refusal("unsupported", "consumer");
        this.dialect = dialect;
        var asked = from.Object("consumer");
        expected = asked.Number("expected");
        idleNs = asked.Number("idle_ms") * 1000000;
        markerField = asked.Text("marker_field");
        failuresMax = from.Number("errors_consecutive_max");
        collection = client.Tailed(asked.Text("collection"));
        tail = Open();
        var sentinel = tail.Next();
        if (sentinel == null || !IsSentinel(sentinel))
        {
            tail.Dispose();
            throw new InvalidOperationException("no sentinel stands first");
        }
        last = collection.Field(sentinel, "_id");
        file = new SampleFile(from.Text("samples"));
        samples = new Samples(file);
    }

    public Dictionary<string, object> Turn(long until)
    {
        var began = Machine.Now();
        var record = new Record();
        samples.Begin(began);
        for (long now = began, heard = began;
            now < until && now - heard < idleNs && failures < failuresMax && !exhausted &&
            !Machine.Stopped;)
        {
            var document = Next();
            now = Machine.Now();
            if (document == null || IsSentinel(document))
                continue;
            exhausted = collection.Field(document, markerField) != null;
            if (exhausted)
                break;
            heard = now;
            record.Number = Number(document, "sequence");
            var producer = Number(document, "producer");
            samples.Add(Number(document, "made_ns"), now, now, ref record, 0, producer);
            exhausted = ++messages >= expected;
        }
        samples.Flush(Machine.Now());
        return Json.Fields("type", "turn_done", "began_ns", began, "exhausted", exhausted,
            "gave_up", failures >= failuresMax);
    }

    public Dictionary<string, object> End()
    {
        tail?.Dispose();
        file.Dispose();
        return Json.Fields("type", "ended",
            "totals", Json.Fields("documents", messages, "sum", 0),
            "errors", errors.Told(),
            "consumer", Json.Fields("cursors", cursors, "positions_lost", lost));
    }

    // The next document; null if an await, or a cursor, has ended without one.
    object Next()
    {
        try
        {
            tail = tail ?? Reopen();
            var document = tail.Next();
            if (document == null) // after a dead cursor as well, the first time
                return null;
            failures = 0;
            last = collection.Field(document, "_id");
            return document;
        }
        catch (Exception error)
        {
            errors.Note(dialect.Describe(error), error.Message);
            failures++;
            tail?.Dispose();
            tail = null;
            Thread.Sleep(ReopenMs);
            return null;
        }
    }

    Tail Open()
    {
        cursors++;
        return collection.Open();
    }

    // A cursor after the last document read if that still exists, otherwise at the oldest one.
    Tail Reopen()
    {
        if (last == null)
            return Open();
        // Asked first: a scan alone would have to keep everything that it passes.
        if (collection.Has(last))
        {
            var open = Open();
            for (var document = open.Next(); document != null; document = open.Next())
            {
                if (last.Equals(collection.Field(document, "_id")))
                    return open;
            }
            open.Dispose(); // at its end, and the position was overwritten meanwhile
        }
        lost++;
        last = null;
        return Open();
    }

    bool IsSentinel(object document) =>
        Convert.ToBoolean(collection.Field(document, "sentinel") ?? false);

    long Number(object document, string field) =>
        Convert.ToInt64(collection.Field(document, field));
}

// A collection as its consumer reads it.
abstract class Tailed
{
    // A tailable cursor at the oldest document.
    public abstract Tail Open();

    public abstract bool Has(object id);

    // Null if it is missing; numbers and truth values convert.
    public abstract object Field(object document, string name);
}

abstract class Tail : IDisposable
{
    // Null if an await has ended without a document.
    public abstract object Next();

    public abstract void Dispose();
}

// Drivers end a dead cursor silently.
sealed class CursorDied : Exception
{
    public CursorDied()
        : base("the cursor is no longer alive")
    {
    }
}
