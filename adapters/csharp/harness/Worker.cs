using System;
using System.Threading;

// One operation between its record and its sample.
sealed class Flight
{
    public readonly Input Input = new Input { Live = true };
    public Record Record;
    public Operation Operation;
    public Target Target;
    public Given Given = new Given();
    public long Intended, Start, End;
    public Answer Answer;
    public Exception Error;

    public void Fly()
    {
        Error = null;
        var call = Target.Call;
        Start = Machine.Now();
        try
        {
            Answer = call(Given);
        }
        catch (Exception error)
        {
            Error = error;
        }
        End = Machine.Now();
    }
}

// A thread that lives as long as the phase, and sleeps between turns.
sealed class Worker
{
    public Answer Totals;
    public bool GaveUp;
    public Exception Failure; // the adapter's, such as a sample file that cannot be written
    readonly Phase phase;
    readonly int number; // number in this process
    readonly Queue queue;
    readonly Samples samples;
    readonly Flight[] flights; // places of a window; otherwise one
    readonly Slot[] slots;
    long reading, due; // the last clock reading; when the next operation may begin
    long failures; // in a row

    public Worker(Phase phase, int number, Queue queue, Schedule schedule, SampleFile file)
    {
        this.phase = phase;
        this.number = number;
        this.queue = queue;
        samples = new Samples(file);
        flights = new Flight[phase.WindowSize];
        for (var i = 0; i < flights.Length; i++)
        {
            flights[i] = new Flight();
            flights[i].Input.Producer = phase.FirstWorker + number;
            flights[i].Input.Guids = schedule.Bytes;
        }
        if (phase.Mode == "window")
            slots = Array.ConvertAll(flights, it => new Slot(it));
        Begin(Work);
    }

    public static void Begin(ThreadStart work) => new Thread(work) { IsBackground = true }.Start();

    void Work()
    {
        for (var seen = 0; phase.AwaitTurn(ref seen); phase.LeaveTurn())
        {
            try
            {
                reading = phase.Began;
                due = 0;
                samples.Begin(reading);
                if (slots != null)
                    Window();
                else
                    OneByOne(flights[0]);
                samples.Flush(reading);
            }
            catch (Exception error)
            {
                Failure = error;
            }
        }
        foreach (var slot in slots ?? new Slot[0])
            slot.Close();
    }

    void OneByOne(Flight flight)
    {
        while (Take(flight))
        {
            flight.Fly();
            Land(flight);
        }
    }

    // Slots are a ring: the next operation takes the place of the oldest.
    void Window()
    {
        var begun = 0;
        for (var slot = slots[0]; Take(slot.Flight); slot = slots[begun % slots.Length])
        {
            slot.Begin();
            begun++;
            LandFrom(slots[begun % slots.Length]);
        }
        for (var i = 0; i < slots.Length; i++)
            LandFrom(slots[(begun + i) % slots.Length]);
    }

    void LandFrom(Slot slot)
    {
        if (slot.Await())
            Land(slot.Flight);
    }

    // Gets the next operation ready to be called. False: this worker's turn has ended.
    bool Take(Flight flight)
    {
        if (Machine.Stopped || GaveUp || Math.Max(reading, due) >= phase.Until)
            return false;
        var before = phase.IsRate ? phase.Until - phase.T0 : long.MaxValue;
        if (!queue.Take(before, out flight.Record))
            return false;
        flight.Intended = phase.T0; // a burst's record
        if (phase.IsRate)
            due = flight.Intended += flight.Record.Intended;
        if (due > reading && !Machine.SleepUntil(due))
            return false;
        var operation = flight.Operation = phase.Operations[flight.Record.Operation];
        var client = ClientOf(flight.Record.Number) % operation.Targets.Length;
        flight.Target = operation.Targets[client];
        phase.SetInput(flight.Input, ref flight.Record);
        operation.Give(flight.Given, flight.Input, ref flight.Record, phase);
        flight.Target.Ready(flight.Given);
        return true;
    }

    long ClientOf(long operation) =>
        !phase.DealsOperations ? number : phase.Shared ? operation : number + operation;

    // Judges an operation that has ended, and writes its sample.
    void Land(Flight flight)
    {
        var outcome = Judge(flight);
        failures = outcome == 0 ? 0 : failures + 1;
        GaveUp |= failures == phase.ErrorsConsecutiveMax;
        var intended = phase.Shared ? flight.Intended : flight.Start;
        reading = Math.Max(reading, flight.End);
        var worker = phase.FirstWorker + number;
        samples.Add(intended, flight.Start, flight.End, ref flight.Record, outcome, worker);
        if (phase.ThinkNs > 0)
            due = flight.End + phase.ThinkNs;
        flight.Given.Forget();
    }

    int Judge(Flight flight)
    {
        if (flight.Error != null)
        {
            var failure = phase.Dialect.Describe(flight.Error);
            phase.Note(failure, flight.Error.Message);
            return failure.TimedOut ? 3 : 2;
        }
        var wrong = flight.Operation.Wrong(flight.Answer, flight.Given, flight.Target.Acknowledged);
        if (wrong != null)
        {
            phase.Note(new Failure { Name = "WrongAnswer" }, wrong);
            return 1;
        }
        flight.Operation.AddTo(ref Totals, flight.Answer);
        return 0;
    }
}

// A place in a window: a separate thread, because a call blocks its thread.
sealed class Slot
{
    public readonly Flight Flight;
    readonly SemaphoreSlim begun = new SemaphoreSlim(0), landed = new SemaphoreSlim(0);
    bool flying, closed;

    public Slot(Flight flight)
    {
        Flight = flight;
        Worker.Begin(Work);
    }

    public void Begin()
    {
        flying = true;
        begun.Release();
    }

    // False if nothing is in flight.
    public bool Await()
    {
        var was = flying;
        if (was)
            landed.Wait();
        flying = false;
        return was;
    }

    public void Close()
    {
        closed = true;
        begun.Release();
    }

    void Work()
    {
        for (begun.Wait(); !closed; begun.Wait())
        {
            Flight.Fly();
            landed.Release();
        }
    }
}
