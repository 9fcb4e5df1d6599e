using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

// One entry of `operations`, and everything that is ready before the first turn.
sealed class Operation
{
    // How many documents a right answer has: any number; as many as the record says; otherwise one.
    static readonly string[] any =
    {
        "noop", "find", "aggregate", "count", "estimated_count", "command", "drop",
    };
    static readonly string[] many = { "insert_many", "bulk_write" };
    // Kinds whose documents the program has read, beside the first five of `any`.
    static readonly string[] read = { "find_one", "read_modify_write", "find_one_and_update" };

    public readonly string Kind, Collection, SumField, ReadConcern, ReadPreference;
    public readonly string W; // w of its write concern; null if it has none
    public readonly bool? Journal;
    public readonly bool Ordered, Upsert, Lazy;
    public readonly int BatchSize;
    public readonly Form Form;
    public Target[] Targets; // one for each client
    readonly Reference documents, filter, projection, update, pipeline, command;
    readonly bool takesAny, takesMany, addsUp, isFind, isBulk, isBatch;

    public Operation(Message from, Pools pools, Dialect dialect)
    {
        Kind = from.Text("kind");
        Collection = from.Text("collection");
        SumField = from.Text("sum_field");
        ReadConcern = from.Text("read_concern");
        ReadPreference = from.Text("read_preference");
        var concern = from.Object("write_concern");
        if (concern != null && concern.TryGetValue("w", out var w))
            W = w.ToString();
        if (concern != null && concern.ContainsKey("j"))
            Journal = concern.Flag("j", false);
        Ordered = from.Flag("ordered", true);
        Upsert = from.Flag("upsert", false);
        Lazy = from.Flag("lazy", false);
        BatchSize = (int)from.Number("batch_size");
        var shape = from.Text("shape") ?? "";
        if (!dialect.Operations.Contains(Kind) || !dialect.Forms.TryGetValue(shape, out Form))
            throw new Refusal("unsupported", $"operation '{Kind}' of shape '{shape}'");

        var native = dialect.Forms[""];
        documents = Reference.Of(from.Object("documents"), pools, Form);
        filter = Reference.Of(from.Object("filter"), pools, native);
        projection = Reference.Of(from.Object("projection"), pools, native);
        update = Reference.Of(from.Object("update"), pools, native);
        pipeline = Reference.Of(from.Object("pipeline"), pools, native);
        command = Reference.Of(from.Object("command"), pools, native);

        isFind = Kind == "find";
        isBulk = Kind == "bulk_write";
        isBatch = Kind == "insert_many" || Kind == "noop";
        takesAny = any.Contains(Kind);
        takesMany = many.Contains(Kind);
        var reads = read.Contains(Kind);
        addsUp = reads || any.Take(5).Contains(Kind);
    }

    // Makes the values that an application has ready when it calls the driver.
    public void Give(Given given, Input input, ref Record record, Phase phase)
    {
        given.Count = record.Count;
        given.Limit = isFind ? record.Count : 0;
        if (isBulk)
        {
            given.Parts = new List<object>(record.Count);
            for (var j = 0; j < record.Count; j++)
                given.Parts.Add(phase.MakePart(j, ref record, input));
            return;
        }
        if (documents != null && isBatch)
            given.Documents = Batch(input, record.Document, record.Count, phase.ItemStep);
        else if (documents != null)
            given.Document = documents.Make(record.Document, input);
        given.Filter = filter?.Make(input);
        given.Projection = projection?.Make(input);
        given.Update = update?.Make(input);
        given.Pipeline = pipeline?.Make(input);
        given.Command = command?.Make(input);
    }

    IEnumerable Batch(Input input, int first, int count, long itemStep)
    {
        if (Lazy)
            return Form.Lazily(Sequence(input, first, count, itemStep));
        var list = Form.NewList(count);
        foreach (var document in Sequence(input, first, count, itemStep))
            list.Add(document);
        return list;
    }

    IEnumerable<object> Sequence(Input input, int first, int count, long itemStep)
    {
        for (var j = 0; j < count; j++, input.Sequence++, input.Shift += itemStep)
            yield return documents.Make(first + j, input);
    }

    // A no-op reads the documents made for it as an answer's documents are read.
    public Answer ReadGiven(Given given)
    {
        var answer = new Answer();
        foreach (var document in given.Documents ?? Enumerable.Empty<object>())
            Form.Read(document, SumField, ref answer);
        return answer;
    }

    // Null, or the text of a wrong answer.
    public string Wrong(Answer answer, Given given, bool acknowledged)
    {
        var wanted = takesMany ? given.Count : 1;
        if (takesAny || answer.Documents == wanted || (!acknowledged && !ReadsAnswer))
            return null;
        return $"{Kind}: an answer of {answer.Documents} documents, expected {wanted}";
    }

    bool ReadsAnswer => Kind == "find_one" || Kind == "read_modify_write";

    public void AddTo(ref Answer totals, Answer answer)
    {
        if (!addsUp)
            return;
        totals.Documents += answer.Documents;
        totals.Sum += answer.Sum;
    }
}
