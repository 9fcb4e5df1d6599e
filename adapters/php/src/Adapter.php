<?php

declare(strict_types=1);

namespace Mongodyno;

/** Reads a line, does it, answers a line. SPEC sections 1 to 3. */
final class Adapter
{
    private const PROTOCOL = 2;
    private const PACINGS = ['awaited', 'think', 'rate', 'burst'];
    private const FLAGS = ['memory_limit', 'opcache.enable_cli', 'opcache.jit', 'zend.assertions'];
    private const MESSAGE_BYTES = 4096;
    private const MS_EACH_LOOK = 500;

    private int $epochNs = 0;
    /** No-ops may come before `open`. */
    private array $session = ['clients' => [null], 'deal' => 'worker', 'database' => ''];
    private ?Phase $phase = null;
    private bool $inTurn = false;
    private bool $stopped = false;

    public function run(): void
    {
        set_error_handler(function (int $level, string $message, string $file, int $line): bool {
            if (error_reporting() & $level) { // not silenced by @
                throw new \ErrorException($message, 0, $level, $file, $line);
            }
            return true;
        });
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, $this->stop(...));
        while (($line = self::line()) !== null) {
            try {
                $answer = $this->handle($line);
            } catch (\Throwable $fault) {
                fwrite(STDERR, "$fault\n");
                $kind = $fault instanceof Refusal ? $fault->kind : 'internal';
                $answer = ['type' => 'error', 'code' => $kind, 'message' => self::told($fault)];
            }
            // Text that was cut, or comes from a server, may not be UTF-8.
            $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE;
            fwrite(STDOUT, "\x1e" . json_encode($answer, $flags) . "\n");
            if ($answer['type'] === 'closed') {
                return;
            }
        }
    }

    public static function told(\Throwable $fault): string
    {
        return substr($fault->getMessage(), 0, self::MESSAGE_BYTES);
    }

    /**
     * Returns whether a line, or the end of stdin, came within that time; a signal cuts it short.
     */
    public static function isHeard(int $us): bool
    {
        $streams = [STDIN];
        $none = null;
        return @stream_select($streams, $none, $none, intdiv($us, 1_000_000), $us % 1_000_000) > 0;
    }

    /** The next line, null at the end. A blocked fgets would run no handler of a signal. */
    private static function line(): ?string
    {
        do {
            $isHeard = self::isHeard(self::MS_EACH_LOOK * 1000);
        } while (!$isHeard);
        $line = fgets(STDIN);
        return $line === false ? null : $line;
    }

    private function stop(): void
    {
        $this->stopped = true;
        if (!$this->inTurn) {
            exit(0);
        }
        $this->phase->deadlineNs = 0; // nothing new is begun; the turn ends as every turn does
    }

    private function handle(string $line): array
    {
        try {
            $message = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
        } catch (\JsonException $fault) {
            throw new Refusal('protocol', "not a line of JSON: {$fault->getMessage()}");
        }
        return match ($message['type'] ?? null) {
            'hello' => $this->hello($message),
            'clock' => ['type' => 'clock', 'now_ns' => hrtime(true) - $this->epochNs],
            'open' => $this->open($message),
            'prepare' => $this->prepare($message),
            'turn' => $this->turn($message['until_ns']),
            'end' => ['type' => 'ended'] + $this->phase->end(),
            'close' => ['type' => 'closed'],
            'render' => ['type' => 'rendered', 'bson' => bin2hex(Makers::render($message))],
            default => throw new Refusal('protocol', 'a message of unknown type'),
        };
    }

    private function hello(array $message): array
    {
        $only = self::PROTOCOL;
        Refusal::unless($message['protocol'] === $only, "protocol $only only", 'protocol');
        $this->epochNs = (int) $message['epoch_ns'];
        $known = array_filter(self::FLAGS, fn ($name) => ini_get($name) !== false);
        $flags = array_map(fn ($name) => $name . '=' . ini_get($name), array_values($known));
        return [
            'type' => 'hello', 'protocol' => self::PROTOCOL, 'adapter' => 'php',
            'driver' => Dialect::driver(),
            'runtime' => ['name' => 'php', 'version' => PHP_VERSION, 'flags' => $flags],
            // PHP does not report the resolution; hrtime counts ns.
            'clock' => ['source' => 'CLOCK_MONOTONIC', 'resolution_ns' => 1],
            'capabilities' => [
                'operations' => array_keys(Dialect::KINDS), 'pacing' => self::PACINGS,
                'extras' => Dialect::EXTRAS, 'shapes' => [], 'alters' => ['int64'],
                'uri' => 'standard', 'consumer_ns' => null,
                'concurrency' => ['kind' => 'processes', 'max' => 1, 'threads' => null],
            ],
        ];
    }

    private function open(array $message): array
    {
        $clients = array_map(fn ($client) => Dialect::connect($client['uri']), $message['clients']);
        $this->session = ['clients' => $clients] + $message;
        return ['type' => 'opened'] + Dialect::opened($clients[0]);
    }

    private function prepare(array $message): array
    {
        $mode = $message['pacing']['mode'] ?? 'none: there is no consumer';
        Refusal::unless(in_array($mode, self::PACINGS, true), "pacing $mode");
        foreach ($message['operations'] as $operation) {
            [$kind, $shape] = [$operation['kind'], $operation['shape'] ?? ''];
            Refusal::unless(isset(Dialect::KINDS[$kind]) && !$shape, "operation $kind $shape");
        }
        $this->phase = new Phase($message, $this->session, $this->epochNs);
        return ['type' => 'ready'];
    }

    private function turn(int $untilNs): array
    {
        $this->phase->deadlineNs = $untilNs + $this->epochNs;
        $this->inTurn = true;
        try {
            return ['type' => 'turn_done'] + $this->phase->turn();
        } finally {
            $this->inTurn = false;
            if ($this->stopped) {
                exit(0); // the samples are written; a stopped turn has no answer
            }
        }
    }
}
