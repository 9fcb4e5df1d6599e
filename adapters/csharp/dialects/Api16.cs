using System;
using System.Collections.Generic;
using System.Linq;
using MongoDB.Driver;

// The API of 1.6: MongoServer and SafeMode, which does not wait for answers by default.
static class Api
{
    // This version ignores options that it does not know.
    static readonly string[] options =
    {
        "connect", "connecttimeoutms", "fsync", "guids", "ipv6", "j", "journal", "maxidletimems",
        "maxlifetimems", "maxpoolsize", "minpoolsize", "readpreference", "readpreferencetags",
        "replicaset", "safe", "secondaryacceptablelatencyms", "serverselectiontimeoutms", "slaveok",
        "sockettimeoutms", "ssl", "sslverifycertificate", "uuidrepresentation", "w",
        "waitqueuemultiple", "waitqueuesize", "waitqueuetimeoutms", "wtimeout", "wtimeoutms",
    };

    public static MongoServer ServerOf(Address address, bool asServer)
    {
        var names = address.Options.Keys.Select(it => it.ToLowerInvariant());
        var unknown = names.FirstOrDefault(it => !options.Contains(it));
        if (unknown != null)
            throw new FormatException($"the driver does not know the option '{unknown}'");
        var settings = new MongoUrl(address.Uri).ToServerSettings().Clone(); // it is frozen
        settings.ConnectTimeout = address.TimeToConnect ?? settings.ConnectTimeout;
        return MongoServer.Create(settings);
    }

    public static bool IsAcknowledged(MongoDatabase database) => database.Settings.SafeMode.Enabled;

    public static bool IsAcknowledged(MongoCollectionSettings settings) =>
        settings.SafeMode.Enabled;

    public static Dictionary<string, object> ConcernOf(MongoDatabase database)
    {
        var mode = database.Settings.SafeMode;
        var told = Json.Fields();
        if (!mode.Enabled || mode.W > 0)
            told["w"] = mode.Enabled ? mode.W : 0;
        if (mode.WMode != null)
            told["w"] = mode.WMode;
        if (mode.Journal)
            told["j"] = true;
        return told;
    }

    public static void SetConcern(MongoCollectionSettings settings, Operation operation)
    {
        var mode = new SafeMode(operation.W != "0") { Journal = operation.Journal == true };
        if (int.TryParse(operation.W, out var nodes) && nodes > 1)
            mode.W = nodes;
        else if (operation.W != null && nodes == 0 && mode.Enabled)
            mode.WMode = operation.W;
        settings.SafeMode = mode;
    }

    public static Answer Affected(GetLastErrorResult result) =>
        Answer.Of(result?.DocumentsAffected ?? 0);
}
