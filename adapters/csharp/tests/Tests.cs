using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;

// Runs every static method of the classes named ...Tests. It needs no package of a test framework,
// because a machine may have no registry.
static class Tests
{
    static int Main()
    {
        var failed = 0;
        var tests = typeof(Tests).Assembly.GetTypes()
            .Where(it => it.Name.EndsWith("Tests") && it != typeof(Tests))
            .SelectMany(it => it.GetMethods(BindingFlags.Static | BindingFlags.Public));
        foreach (var test in tests)
        {
            try
            {
                test.Invoke(null, null);
                Console.WriteLine($"ok    {test.DeclaringType.Name}.{test.Name}");
            }
            catch (TargetInvocationException error)
            {
                failed++;
                var name = $"{test.DeclaringType.Name}.{test.Name}";
                Console.WriteLine($"FAIL  {name}: {error.InnerException}");
            }
        }
        return failed == 0 ? 0 : 1;
    }

    public static void Equal(object expected, object got)
    {
        var texts = new[] { expected, got }
            .Select(it => Json.Write(it, new StringBuilder()).ToString()).ToArray();
        if (texts.Distinct().Count() > 1)
            throw new Exception("expected, got: " + string.Join(", ", texts));
    }

    public static string CodeOfRefusal(Action action)
    {
        try
        {
            action();
            return "none";
        }
        catch (Refusal refusal)
        {
            return refusal.Code;
        }
    }

    // An entry of `open`, for a server that no test asks.
    public static Address At(params string[] options)
    {
        var pairs = options.Select(it => it.Split('='));
        var fields = pairs.ToDictionary(it => it[0], it => (object)it[1]);
        var query = options.Length == 0 ? "" : "?" + string.Join("&", options);
        var uri = "mongodb://127.0.0.1:1/" + query;
        var entry = Json.Fields("uri", uri, "hosts", new[] { "127.0.0.1:1" }, "options", fields);
        return new Address(JsonReader.Parse(Json.Write(entry, new StringBuilder()).ToString()));
    }
}

static class JsonTests
{
    public static void ReadsWhatItWrites()
    {
        var text = @"{""a"":[1,-2,[],{}],""b"":{""c"":""\""\\\u0001é\ud83d\ude00""},""e"":null}";
        Tests.Equal(text, Json.Write(JsonReader.Parse(text), new StringBuilder()).ToString());
    }

    public static void RefusesWhatIsNoObject()
    {
        foreach (var line in new[]
        {
            "", "1", "[]", "{", "{}}", "{\"a\"}", "{\"a\":1", "{\"a\":1,}", "{\"a\":}", "{a:1}",
            "{\"a\":[1,]}", "{\"a\":\"", "{\"a\":\"\\u12\"}", "{\"a\":\"\\x\"}", "{\"a\":1e}",
        })
            Tests.Equal("protocol", Tests.CodeOfRefusal(() => JsonReader.Parse(line)));
    }

    public static void LeavesOutWhatIsNull()
    {
        var message = JsonReader.Parse("{\"a\":null,\"n\":\"7\"}");
        Tests.Equal(5, message.Number("a", 5));
        Tests.Equal(5, message.Number("n", 5));
        Tests.Equal(null, message.Text("missing"));
    }
}

static class QueueTests
{
    const int Threads = 4, Limit = 100000;

    static Schedule ScheduleOf(int records, int intendedNs)
    {
        var path = Path.GetTempFileName();
        using (var to = new BinaryWriter(File.Create(path)))
        {
            foreach (var word in new[] { 0, 0, 32, records, 1, 0 })
                to.Write(word);
            to.Write((long)records * intendedNs); // lap_ns
            for (var i = 0; i < records; i++)
            {
                to.Write((long)i * intendedNs);
                to.Write(new byte[24]);
            }
        }
        var schedule = new Schedule(path);
        File.Delete(path);
        return schedule;
    }

    public static void DealsEachNumberOnceToItsWorkers()
    {
        var queue = new Queue(ScheduleOf(7, 0), 0, Limit);
        var dealt = new List<long>[Threads];
        var threads = Enumerable.Range(0, Threads).Select(it => new Thread(() =>
        {
            dealt[it] = new List<long>();
            while (queue.Take(long.MaxValue, out var record))
                dealt[it].Add(record.Number);
        })).ToArray();
        foreach (var thread in threads)
            thread.Start();
        foreach (var thread in threads)
            thread.Join();
        var numbers = dealt.SelectMany(it => it).OrderBy(it => it).ToArray();
        Tests.Equal(true, numbers.SequenceEqual(Enumerable.Range(0, Limit).Select(it => (long)it)));
        Tests.Equal(true, queue.Exhausted);
    }

    public static void KeepsARecordForTheNextTurn()
    {
        var queue = new Queue(ScheduleOf(2, 10), 0, null);
        Tests.Equal(true, queue.Take(10, out _));
        Tests.Equal(false, queue.Take(10, out _));
        Tests.Equal(true, queue.Take(11, out var second));
        Tests.Equal(true, queue.Take(21, out var third));
        var got = new[] { second.Intended, third.Intended, third.Lap, third.Number };
        Tests.Equal(new[] { 10L, 20, 1, 2 }, got);
    }
}
