using System;
using System.Collections.Generic;
using MongoDB.Driver;

// The API of 1.7 and later: MongoClient and WriteConcern.
static class Api
{
    public static MongoServer ServerOf(Address address, bool asServer)
    {
        var url = new MongoUrl(address.Uri);
        if (asServer)
        {
            var old = MongoServerSettings.FromUrl(url);
            old.ConnectTimeout = address.TimeToConnect ?? old.ConnectTimeout;
#pragma warning disable 618 // obsolete; measuring it is the point of this option
            return MongoServer.Create(old);
#pragma warning restore 618
        }
        var settings = MongoClientSettings.FromUrl(url);
        settings.ConnectTimeout = address.TimeToConnect ?? settings.ConnectTimeout;
        return new MongoClient(settings).GetServer();
    }

    public static bool IsAcknowledged(MongoDatabase database) =>
        database.Settings.WriteConcern.Enabled;

    public static bool IsAcknowledged(MongoCollectionSettings settings) =>
        settings.WriteConcern.Enabled;

    public static Dictionary<string, object> ConcernOf(MongoDatabase database)
    {
        var concern = database.Settings.WriteConcern;
        var told = Json.Fields();
        if (!concern.Enabled)
            told["w"] = 0;
        else if (concern.W is WriteConcern.WCount count)
            told["w"] = count.Value;
        else if (concern.W != null)
            told["w"] = concern.W.ToString();
        if (concern.Journal != null)
            told["j"] = concern.Journal;
        return told;
    }

    public static void SetConcern(MongoCollectionSettings settings, Operation operation) =>
        settings.WriteConcern = new WriteConcern
        {
            W = operation.W == null ? 1 : WriteConcern.WValue.Parse(operation.W),
            Journal = operation.Journal,
        };

    public static Answer Affected(WriteConcernResult result) =>
        Answer.Of(result?.DocumentsAffected ?? 0);
}
