using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;

// Clock, sleep and signals.
static class Machine
{
    const int ClockMonotonic = 1, AbsoluteTime = 1, Second = 1000000000;
    const long SliceNs = 100000000; // interval at which a sleeper looks for SIGTERM

    static readonly long tickNs = Second / Stopwatch.Frequency;
    static long epochNs;
    static volatile bool stopped;

    // Both runtimes read CLOCK_MONOTONIC; Mono truncates it to 100 ns.
    public static long ResolutionNs => tickNs;

    public static bool Stopped => stopped;

    public static void SetEpoch(long ns) => epochNs = ns;

    public static long Now() => Stopwatch.GetTimestamp() * tickNs - epochNs;

    // Sleeps in the kernel, because Thread.Sleep counts milliseconds. False: SIGTERM has come.
    public static bool SleepUntil(long ns)
    {
        for (var now = Now(); now < ns && !stopped; now = Now())
        {
            var wake = Math.Min(ns, now + SliceNs) + epochNs;
            var at = new TimeSpec
            {
                Seconds = (IntPtr)(wake / Second),
                Nanoseconds = (IntPtr)(wake % Second),
            };
            clock_nanosleep(ClockMonotonic, AbsoluteTime, ref at, IntPtr.Zero);
        }
        return !stopped;
    }

    // Ends the process at once: Environment.Exit would wait for the runtime's cleanup.
    public static void Leave() => _exit(0);

    [StructLayout(LayoutKind.Sequential)]
    struct TimeSpec
    {
        public IntPtr Seconds, Nanoseconds;
    }

    [DllImport("libc")]
    static extern int clock_nanosleep(int clock, int flags, ref TimeSpec at, IntPtr left);

    [DllImport("libc")]
    static extern void _exit(int code);

#if MONO
    public const string RuntimeName = "mono";

    // Mono reports its version only in a special method: "6.8.0.105 (Debian ...)".
    public static string RuntimeVersion
    {
        get
        {
            var name = Type.GetType("Mono.Runtime")
                .GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
            return ((string)name.Invoke(null, null)).Split(' ')[0];
        }
    }

    public static void OnTerminate(Action stop)
    {
        var signal = new Mono.Unix.UnixSignal(Mono.Unix.Native.Signum.SIGTERM);
        var waiting = new Thread(() =>
        {
            signal.WaitOne();
            stopped = true;
            stop();
        });
        waiting.IsBackground = true;
        waiting.Start();
    }

    // Mono counts collections of the nursery and of the whole heap separately.
    public static long Collections => GC.CollectionCount(0) + GC.CollectionCount(1);

    // Mono does not report it.
    public static long? PausedNs => null;
#else
    public const string RuntimeName = "dotnet";

    public static string RuntimeVersion => Environment.Version.ToString();

    static PosixSignalRegistration registration; // if it were garbage, it would be undone

    public static void OnTerminate(Action stop) =>
        registration = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context =>
        {
            context.Cancel = true;
            stopped = true;
            stop();
        });

    public static long Collections => GC.CollectionCount(0);

    public static long? PausedNs => (long)(GC.GetTotalPauseDuration().TotalMilliseconds * 1e6);
#endif
}
