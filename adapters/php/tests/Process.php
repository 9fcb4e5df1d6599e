<?php

declare(strict_types=1);

namespace Mongodyno\Tests;

use Mongodyno\Dialect;

/** An adapter as a child. */
final class Process
{
    public const FOREVER_NS = 2 ** 53 - 1;

    private $child;
    private array $pipes = [];
    private readonly string $folder;

    public function __construct()
    {
        $this->folder = sys_get_temp_dir() . '/mdyn_test_' . bin2hex(random_bytes(8));
        mkdir($this->folder);
        $command = [PHP_BINARY, dirname(__DIR__) . '/adapter.php'];
        $streams = [['pipe', 'r'], ['pipe', 'w'], ['file', "$this->folder/log", 'w']];
        $this->child = proc_open($command, $streams, $this->pipes);
        $this->ask('hello', ['protocol' => 2, 'epoch_ns' => (string) hrtime(true)]);
    }

    public function write(string $type, array $fields = []): void
    {
        fwrite($this->pipes[0], json_encode(['type' => $type] + $fields) . "\n");
    }

    public function ask(string $type, array $fields = []): array
    {
        $this->write($type, $fields);
        return json_decode(substr(fgets($this->pipes[1]), 1), true);
    }

    public function open(string $uri, string $database): array
    {
        $client = ['uri' => $uri, 'hosts' => [], 'user' => null, 'password' => null];
        $open = ['clients' => [$client], 'deal' => 'worker', 'database' => $database];
        return $this->ask('open', $open);
    }

    /** Records are (intended_ns, operation). */
    public function prepare(array $operations, array $records, array $pool, string $mode): void
    {
        $schedule = pack('a8VVVVP', 'MDYNSCH2', 32, count($records), 1, 0, 0);
        foreach ($records as [$intendedNs, $operation]) {
            $schedule .= pack('PPVVCCx6', $intendedNs, 0, 0, 1, $operation, 0);
        }
        file_put_contents("$this->folder/schedule", $schedule);
        file_put_contents("$this->folder/pool", implode(array_map(Dialect::encode(...), $pool)));
        $this->ask('prepare', [
            'samples' => "$this->folder/samples", 'schedule' => "$this->folder/schedule",
            'pools' => ["$this->folder/pool"], 'workers' => 1, 'first_worker' => 0,
            'limits' => [count($records)], 'pacing' => ['mode' => $mode], 'lap_step' => 0,
            'item_step' => 0, 'errors_consecutive_max' => 10, 'operations' => $operations,
        ]);
    }

    /** The outcome of each sample. */
    public function outcomes(): array
    {
        $samples = str_split(file_get_contents("$this->folder/samples"), 32);
        return array_map(fn ($sample) => ord($sample[29]), array_filter($samples));
    }

    public function signal(int $signal): void
    {
        proc_terminate($this->child, $signal);
    }

    public function hangUp(): void
    {
        fclose($this->pipes[0]);
    }

    /** The exit code of an adapter that ends by itself. */
    public function code(): int
    {
        for ($left = 500; ($status = proc_get_status($this->child))['running'] && $left; $left--) {
            usleep(10_000);
        }
        return $status['exitcode'];
    }

    public function __destruct()
    {
        proc_terminate($this->child, SIGKILL);
        proc_close($this->child);
        array_map(unlink(...), glob("$this->folder/*"));
        rmdir($this->folder);
    }
}
