using System;
using System.IO;
using System.Threading;

// One operation of the schedule, or one part of a bulk.
struct Record
{
    public long Intended, Key, Lap, Number; // Intended: offset from T0
    public int Document, Count, Operation, GuidAt;
    public bool Advances; // its key moves on with each lap
}

sealed class Schedule
{
    const int HeaderBytes = 32;
    const int KeyAt = 8, DocumentAt = 16, CountAt = 20, OperationAt = 24, FlagsAt = 25, GuidAt = 32;

    public readonly byte[] Bytes;
    public readonly long LapNs;
    public readonly int Records, Slices; // Records: without the parts after them
    readonly int recordBytes;

    public Schedule(string path)
    {
        Bytes = File.ReadAllBytes(path);
        recordBytes = BitConverter.ToInt32(Bytes, 8);
        Records = BitConverter.ToInt32(Bytes, 12);
        Slices = BitConverter.ToInt32(Bytes, 16);
        LapNs = BitConverter.ToInt64(Bytes, 24);
    }

    public long IntendedOf(long index) => BitConverter.ToInt64(Bytes, At(index));

    public Record Read(long index)
    {
        var at = At(index);
        return new Record
        {
            Intended = BitConverter.ToInt64(Bytes, at),
            Key = BitConverter.ToInt64(Bytes, at + KeyAt),
            Document = BitConverter.ToInt32(Bytes, at + DocumentAt),
            Count = BitConverter.ToInt32(Bytes, at + CountAt),
            Operation = Bytes[at + OperationAt],
            Advances = (Bytes[at + FlagsAt] & 1) != 0,
            GuidAt = recordBytes > GuidAt ? at + GuidAt : 0, // no stamp uses guids without
        };
    }

    int At(long index) => checked((int)(HeaderBytes + index * recordBytes));
}

// Deals out one slice lap after lap, to its worker or to all of them.
sealed class Queue
{
    readonly Schedule schedule;
    readonly long first, length, limit;
    long dealt;

    public Queue(Schedule schedule, int slice, long? limit)
    {
        this.schedule = schedule;
        length = schedule.Records / schedule.Slices;
        first = slice * length;
        this.limit = limit ?? long.MaxValue;
    }

    public bool Exhausted => Volatile.Read(ref dealt) >= limit;

    // Takes the next record, unless it is intended at or after `before`: then it waits for the next
    // turn.
    public bool Take(long before, out Record record)
    {
        while (true)
        {
            var number = Volatile.Read(ref dealt);
            record = default(Record);
            if (number >= limit)
                return false;
            var lap = number / length;
            var index = first + number - lap * length;
            if (schedule.IntendedOf(index) + lap * schedule.LapNs >= before)
                return false;
            if (Interlocked.CompareExchange(ref dealt, number + 1, number) != number)
                continue;
            record = schedule.Read(index);
            record.Lap = lap;
            record.Number = number;
            record.Intended += lap * schedule.LapNs;
            return true;
        }
    }
}

// The sample file, which all workers of a phase append to.
sealed class SampleFile : IDisposable
{
    readonly FileStream file;

    // Not buffered: workers have their own buffers.
    public SampleFile(string path) =>
        file = new FileStream(path, FileMode.Create, FileAccess.Write, FileShare.Read, 1);

    public void Append(byte[] samples, int count)
    {
        lock (file)
        {
            file.Write(samples, 0, count);
            file.Flush();
        }
    }

    public void Dispose() => file.Dispose();
}

// A worker's samples that are not yet in the file.
sealed class Samples
{
    const int Buffered = 32768 / 4, Words = 4, Bytes = 32;
    const long WrittenNs = 1000000000; // how long they may wait in a turn

    readonly SampleFile file;
    readonly long[] words = new long[Buffered * Words];
    readonly byte[] bytes = new byte[Buffered * Bytes];
    int count;
    long written;

    public Samples(SampleFile file) => this.file = file;

    public void Begin(long now) => written = now;

    public void Add(
        long intended, long start, long end, ref Record record, int outcome, long worker)
    {
        var at = count++ * Words;
        words[at] = intended;
        words[at + 1] = start;
        words[at + 2] = end - start;
        words[at + 3] = (uint)record.Number | (long)record.Operation << 32 |
            (long)outcome << 40 | worker << 48;
        if (count == Buffered || end - written >= WrittenNs)
            Flush(end);
    }

    public void Flush(long now)
    {
        Buffer.BlockCopy(words, 0, bytes, 0, count * Bytes);
        file.Append(bytes, count * Bytes);
        count = 0;
        written = now;
    }
}
