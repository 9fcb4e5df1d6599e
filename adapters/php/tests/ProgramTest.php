<?php

declare(strict_types=1);

namespace Mongodyno\Tests;

use MongoDB\Driver\BulkWrite;
use MongoDB\Driver\Command;
use MongoDB\Driver\Manager;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Process.php';

/** Tests of the program as a child. MDYN_URI adds what needs a server. */
final class ProgramTest extends TestCase
{
    private const NOOP = ['name' => 'noop', 'kind' => 'noop'];
    private const IN_A_MINUTE = [[0, 0], [60_000_000_000, 0]];
    private const GIVEN = ['pool' => 0, 'document' => 0, 'stamps' => []];

    private Process $process;

    protected function setUp(): void
    {
        $this->process = new Process();
    }

    private function sleep(): void
    {
        $this->process->prepare([self::NOOP], self::IN_A_MINUTE, [], 'rate');
        $this->process->write('turn', ['until_ns' => Process::FOREVER_NS]);
        usleep(300_000);
    }

    public function testSigtermInSleepKeepsTheSamples(): void
    {
        $this->sleep();
        $this->process->signal(SIGTERM);
        $this->assertSame(0, $this->process->code());
        $this->assertSame([0], $this->process->outcomes());
    }

    public function testSigtermBetweenTurns(): void
    {
        $this->process->signal(SIGTERM);
        $this->assertSame(0, $this->process->code());
    }

    public function testTheEndOfStdinInSleep(): void
    {
        $this->sleep();
        $this->process->hangUp();
        $this->assertSame(0, $this->process->code());
    }

    /** @dataProvider refusals */
    public function testRefusedConnections(string $options, string $code): void
    {
        $answer = $this->process->open("mongodb://127.0.0.1:1/?$options", 'x');
        $this->assertSame($code, $answer['code'], $answer['message']);
        $this->assertSame('clock', $this->process->ask('clock')['type']);
    }

    public function refusals(): array
    {
        return [
            ['maxPoolSize=3', 'unsupported'],
            ['w=0&journal=true', 'unsupported'],
            ['journal=maybe', 'unsupported'],
            ['noSuchOption=1', 'unsupported'],
            ['serverSelectionTimeoutMS=300', 'connect'],
        ];
    }

    private function uri(string $options = ''): string
    {
        $uri = getenv('MDYN_URI') ?: $this->markTestSkipped('MDYN_URI names no server');
        return $uri . (str_contains($uri, '?') ? '&' : (str_ends_with($uri, '/') ? '?' : '/?'))
            . $options;
    }

    private function outcomes(string $options, array $operations, array $pool): array
    {
        $database = 'mdyn_php_' . getmypid();
        $manager = new Manager($this->uri());
        $bulk = new BulkWrite();
        $bulk->insert(['_id' => 1]);
        $manager->executeBulkWrite("$database.items", $bulk);
        $opened = $this->process->open($this->uri($options), $database);
        $this->assertSame('opened', $opened['type'], json_encode($opened));
        $records = array_map(fn ($number) => [0, $number], array_keys($operations));
        $this->process->prepare($operations, $records, $pool, 'awaited');
        $this->process->ask('turn', ['until_ns' => Process::FOREVER_NS]);
        $manager->executeCommand($database, new Command(['dropDatabase' => 1]));
        return $this->process->outcomes();
    }

    public function testRefusedCredentials(): void
    {
        $uri = preg_replace('#//(.*@)?#', '//me:hush@', $this->uri(), 1);
        $this->assertSame('auth', $this->process->open($uri, 'x')['code']);
    }

    public function testATimeoutOfTheSocket(): void
    {
        $function = ['body' => 'function() { sleep(2000); return true }', 'args' => [],
            'lang' => 'js'];
        $find = ['name' => 'find', 'kind' => 'find', 'collection' => 'items',
            'filter' => self::GIVEN];
        $slow = [['$expr' => ['$function' => $function]]];
        $options = 'socketTimeoutMS=250&retryReads=false';
        $this->assertSame([3], $this->outcomes($options, [$find], $slow));
    }

    public function testConcernsOfCommandsAreFields(): void
    {
        $count = ['name' => 'count', 'kind' => 'command', 'read_concern' => 'local',
            'read_preference' => 'nearest', 'command' => self::GIVEN];
        $wrong = ['read_concern' => 'nonsense'] + $count;
        $this->assertSame([0, 2], $this->outcomes('', [$count, $wrong], [['count' => 'items']]));
    }
}
