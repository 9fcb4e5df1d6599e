using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

// What lives from `prepare` to `end`.
interface IRole
{
    // Answers `turn_done`.
    Dictionary<string, object> Turn(long until);

    // Closes the sample file; answers `ended`.
    Dictionary<string, object> End();
}

sealed class Phase : IRole
{
    public static readonly string[] Pacings = { "awaited", "think", "window", "rate", "burst" };

    public readonly string Mode;
    public readonly Operation[] Operations;
    public readonly Dialect Dialect;
    public readonly long LapStep, ItemStep, FirstWorker, ErrorsConsecutiveMax, ThinkNs;
    public readonly int WindowSize;
    public readonly bool IsRate;
    public readonly bool Shared; // one queue for all workers
    public readonly bool DealsOperations; // clients, not workers, are dealt
    public long T0, Began, Until; // T0: began_ns of the first turn
    readonly Schedule schedule;
    readonly SampleFile file;
    readonly Queue[] queues;
    readonly Worker[] workers;
    readonly Errors errors = new Errors();
    readonly object gate = new object(); // guards the next three
    int turn, working;
    bool closed;
    readonly long collections, pausedNs;

    public Phase(Message from, Dialect dialect, Client[] clients, string deal)
    {
        Dialect = dialect;
        var pacing = from.Object("pacing");
        Mode = pacing.Text("mode");
        if (!Pacings.Contains(Mode))
            throw new Refusal("unsupported", $"pacing '{Mode}'");
        ThinkNs = pacing.Number("think_ns");
        WindowSize = (int)pacing.Number("size", 1);
        IsRate = Mode == "rate";
        Shared = Mode == "rate" || Mode == "burst";
        DealsOperations = deal == "operation";
        LapStep = from.Number("lap_step");
        ItemStep = from.Number("item_step");
        FirstWorker = from.Number("first_worker");
        ErrorsConsecutiveMax = from.Number("errors_consecutive_max");

        var pools = new Pools(from.Items<string>("pools"));
        Operations = from.Items<Message>("operations")
            .Select(it => new Operation(it, pools, dialect)).ToArray();
        foreach (var operation in Operations)
        {
            operation.Targets = operation.Kind == "noop" || clients == null
                ? new[] { new Target { Call = operation.ReadGiven } }
                : clients.Select(it => it.TargetOf(operation)).ToArray();
        }
        schedule = new Schedule(from.Text("schedule"));
        var limits = from.Get<List<object>>("limits");
        queues = Enumerable.Range(0, schedule.Slices)
            .Select(it => new Queue(schedule, it, (long?)limits?[it])).ToArray();
        file = new SampleFile(from.Text("samples"));
        workers = Enumerable.Range(0, (int)from.Number("workers"))
            .Select(it => new Worker(this, it, queues[it % queues.Length], schedule, file))
            .ToArray();
        collections = Machine.Collections;
        pausedNs = Machine.PausedNs ?? 0;
    }

    // Releases the workers and waits for them.
    public Dictionary<string, object> Turn(long until)
    {
        lock (gate)
        {
            turn++;
            working = workers.Length;
            Until = until;
            Began = Machine.Now();
            if (T0 == 0)
                T0 = Began;
            Monitor.PulseAll(gate);
            while (working > 0)
                Monitor.Wait(gate);
        }
        var failure = workers.Select(it => it.Failure).FirstOrDefault(it => it != null);
        if (failure != null)
            throw failure;
        return new Dictionary<string, object>
        {
            { "type", "turn_done" },
            { "began_ns", Began },
            { "exhausted", queues.All(it => it.Exhausted) },
            { "gave_up", workers.Any(it => it.GaveUp) },
        };
    }

    // A worker sleeps here between turns. False: there is no next one.
    public bool AwaitTurn(ref int seen)
    {
        lock (gate)
        {
            while (turn == seen && !closed)
                Monitor.Wait(gate);
            seen = turn;
            return !closed;
        }
    }

    public void LeaveTurn()
    {
        lock (gate)
        {
            if (--working == 0)
                Monitor.PulseAll(gate);
        }
    }

    public Dictionary<string, object> End()
    {
        lock (gate)
        {
            closed = true;
            Monitor.PulseAll(gate);
        }
        file.Dispose();
        var runtime = Json.Fields("gc_count", Machine.Collections - collections);
        if (Machine.PausedNs is long paused)
            runtime["gc_ns"] = paused - pausedNs;
        return new Dictionary<string, object>
        {
            { "type", "ended" },
            { "totals", Json.Fields(
                "documents", workers.Sum(it => it.Totals.Documents),
                "sum", workers.Sum(it => it.Totals.Sum)) },
            { "errors", errors.Told() },
            { "runtime", runtime },
        };
    }

    public void Note(Failure failure, string message) => errors.Note(failure, message);

    // Sets what the stamps of a record's first document are made of.
    public void SetInput(Input input, ref Record record)
    {
        input.Key = record.Key;
        input.Shift = record.Advances ? record.Lap * LapStep : 0;
        input.Sequence = record.Number;
        input.GuidAt = record.GuidAt;
    }

    // A part of a bulk: in the same lap, with its own number in it for `sequence`.
    public object MakePart(int part, ref Record bulk, Input input)
    {
        var record = schedule.Read(schedule.Records + bulk.Document + part);
        record.Lap = bulk.Lap;
        record.Number = bulk.Number + part;
        SetInput(input, ref record);
        var given = new Given();
        var operation = Operations[record.Operation];
        operation.Give(given, input, ref record, this);
        return operation.Targets[0].Part(given);
    }
}
