#if COMMUNITY
using System.Collections.Generic;
using MongoDB;

// Tests of what is special to the driver: errors, options, types. They need no server.
static class CommunityTests
{
    static readonly Driver driver = new Driver(new string[0]);

    static Client Open(params string[] options) => driver.Open(Tests.At(options), "mdyn_test");

    public static void CopiesAreDeep()
    {
        var inner = new Document("bytes", new Binary(new byte[] { 1 }));
        var pool = new Document("list", new List<Document> { inner });
        var copy = (Document)driver.Forms[""].Copy(pool);
        var list = (List<object>)copy["list"];
        ((Binary)((Document)list[0])["bytes"]).Bytes[0] = 9;
        list.Clear();
        Tests.Equal(1, ((List<Document>)pool["list"]).Count);
        Tests.Equal((byte)1, ((Binary)inner["bytes"]).Bytes[0]);
    }

    public static void OptionsWithoutEffectAreRefused()
    {
        foreach (var option in new[] { "noSuchOption=1", "maxPoolSize=0", "w=2", "w=majority" })
            Tests.Equal("unsupported", Tests.CodeOfRefusal(() => Open(option)));
    }

    public static void OptionsHaveTheDriversNames()
    {
        var set = Open("maxPoolSize=7", "minPoolSize=2", "serverSelectionTimeoutMS=5").Resolved;
        Tests.Equal(new[] { 7, 2 }, new[] { set["max_pool_size"], set["min_pool_size"] });
    }

    public static void SafemodeDecidesWhetherAWriteIsAnswered()
    {
        Tests.Equal(false, Open().Acknowledged);
        Tests.Equal(false, Open("w=0").Acknowledged);
        Tests.Equal(true, Open("w=1").Acknowledged);
    }

    public static void ErrorsAreNamedAsTheServerDoes()
    {
        var answer = new Document { { "code", 50 }, { "codeName", "Name" } };
        var failure = driver.Describe(new MongoOperationException("", answer));
        Tests.Equal(
            new object[] { 50, "Name", true },
            new object[] { failure.Code, failure.Name, failure.TimedOut });
        failure = driver.Describe(new MongoConnectionException("", "", null));
        Tests.Equal(new object[] { 0, "MongoConnectionException" },
            new object[] { failure.Code, failure.Name });
    }
}
#endif
