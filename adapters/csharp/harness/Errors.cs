using System.Collections.Generic;
using System.Linq;

// Failures of a phase, counted by their kind.
sealed class Errors
{
    readonly Dictionary<string, Noted> errors = new Dictionary<string, Noted>(); // its own guard

    public void Note(Failure failure, string message)
    {
        lock (errors)
        {
            var kind = failure.Code + failure.Name;
            if (!errors.TryGetValue(kind, out var noted))
                errors[kind] = noted = new Noted { Failure = failure, Text = Adapter.Cut(message) };
            noted.Count++;
        }
    }

    public IEnumerable<object> Told() => errors.Values.Select(it => it.Told());

    sealed class Noted
    {
        public Failure Failure;
        public string Text;
        public int Count;

        public Dictionary<string, object> Told() => Json.Fields(
            "code", Failure.Code, "name", Failure.Name, "count", Count, "message", Text);
    }
}
