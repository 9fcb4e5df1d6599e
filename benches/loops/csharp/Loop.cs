using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using MongoDB.Bson;
using MongoDB.Bson.Serialization;
using MongoDB.Driver;
#if DRIVER1
using Items = MongoDB.Driver.MongoCollection<MongoDB.Bson.BsonDocument>;
#else
using Items = MongoDB.Driver.IMongoCollection<MongoDB.Bson.BsonDocument>;
#endif

// The least code with which a C# program does the adapter's work, for comparison with it.
//
// loop URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
// turn in ms; it answers with the operations done and the ns they took.
static class Loop
{
    static void Main(string[] arguments)
    {
        var items = Collection(arguments[0], arguments[1], arguments[2]);
        var count = int.Parse(arguments[4]);
        var pool = ReadPool(arguments[5]).ToArray();
        var workers = Enumerable.Range(0, count)
            .Select(it => new Worker(items, pool, it, count, arguments[3] == "insert_one"));
        var turns = new Turns(workers.ToArray());
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine())
            Console.WriteLine(turns.Take(int.Parse(line)));
    }

    static Items Collection(string uri, string database, string name)
    {
        var client = new MongoClient(uri);
#if DRIVER1
        return client.GetServer().GetDatabase(database).GetCollection<BsonDocument>(name);
#else
        return client.GetDatabase(database).GetCollection<BsonDocument>(name);
#endif
    }

    static IEnumerable<BsonDocument> ReadPool(string path)
    {
        var file = File.ReadAllBytes(path);
        for (int at = 0, length; at < file.Length; at += length)
        {
            length = BitConverter.ToInt32(file, at);
            yield return BsonSerializer.Deserialize<BsonDocument>(
                file.Skip(at).Take(length).ToArray());
        }
    }
}

// The threads of all workers, which sleep between turns.
sealed class Turns
{
    readonly Worker[] workers;
    readonly object gate = new object();
    int turn, working;
    long until;

    public Turns(Worker[] workers)
    {
        this.workers = workers;
        foreach (var worker in workers)
            new Thread(() => Work(worker)) { IsBackground = true }.Start();
    }

    public string Take(int length)
    {
        long began;
        lock (gate)
        {
            turn++;
            working = workers.Length;
            began = Stopwatch.GetTimestamp();
            until = began + length * Stopwatch.Frequency / 1000;
            Monitor.PulseAll(gate);
            while (working > 0)
                Monitor.Wait(gate);
        }
        var took = workers.Max(it => it.Ended) - began;
        return workers.Sum(it => it.Operations) + " " + took * (1000000000 / Stopwatch.Frequency);
    }

    void Work(Worker worker)
    {
        for (var seen = 0; ;)
        {
            lock (gate)
            {
                while (turn == seen)
                    Monitor.Wait(gate);
                seen = turn;
            }
            worker.Turn(until);
            lock (gate)
            {
                working--;
                Monitor.PulseAll(gate);
            }
        }
    }
}

sealed class Worker
{
    const int Loaded = 20000; // documents that there are to be found: keys 0 and up
    const int Stride = 7919; // coprime to Loaded: every key comes, in an order that no cache knows

    static readonly byte[] prefix = { 0x69, 0x55, 0xb9, 0x00 };

    readonly Items items;
    readonly BsonDocument[] pool;
    readonly int workers;
    readonly bool inserts;
    readonly List<long> starts = new List<long>(), ends = new List<long>();
    long key, sum;

    public Worker(Items items, BsonDocument[] pool, int key, int workers, bool inserts)
    {
        this.items = items;
        this.pool = pool;
        this.key = key;
        this.workers = workers;
        this.inserts = inserts;
    }

    public int Operations => ends.Count;

    public long Ended => ends[ends.Count - 1];

    public void Turn(long until)
    {
        starts.Clear();
        ends.Clear();
        for (var now = Stopwatch.GetTimestamp(); now < until; ends.Add(now))
        {
            if (inserts)
                InsertOne();
            else
                FindOne();
            now = Stopwatch.GetTimestamp();
        }
    }

    static BsonObjectId Id(long key)
    {
        var id = new byte[12];
        prefix.CopyTo(id, 0);
        for (var i = 11; i >= 4; i--, key >>= 8)
            id[i] = (byte)key;
        return new BsonObjectId(new ObjectId(id));
    }

    void InsertOne()
    {
        var document = new BsonDocument();
        foreach (var element in pool[key % pool.Length])
            document.Add(element.Name, MadeAnew(element.Value));
        document["_id"] = Id(key);
        document["number"] = new BsonInt64(key);
        key += workers;
        starts.Add(Stopwatch.GetTimestamp());
#if DRIVER1
        items.Insert(document);
#else
        items.InsertOne(document);
#endif
    }

    // An application would have made each binary; the rest of a document can be shared.
    static BsonValue MadeAnew(BsonValue value)
    {
        var binary = value as BsonBinaryData;
        return binary == null ? value : new BsonBinaryData((byte[])binary.Bytes.Clone());
    }

    void FindOne()
    {
        key = (key + Stride) % Loaded;
#if DRIVER1
        var filter = new QueryDocument("_id", Id(key));
        starts.Add(Stopwatch.GetTimestamp());
        var found = items.FindOne(filter);
#else
        var filter = new BsonDocument("_id", Id(key));
        starts.Add(Stopwatch.GetTimestamp());
        var found = items.Find(filter).FirstOrDefault();
#endif
        sum += found["number"].ToInt64();
    }
}
