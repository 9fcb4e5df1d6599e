<?php

declare(strict_types=1);

namespace Mongodyno;

use function count;
use function hrtime;
use function intdiv;
use function pack;
use function strlen;

/** A phase between its turns: schedule, the one worker, its samples. SPEC sections 5, 7 and 8. */
final class Phase
{
    /**
     * The words of 512 samples, which are packed when they are written: in blocks, as records are
     * unpacked. Fewer than the contract allows: one write every ms of no-ops costs nothing.
     */
    private const WORDS = 512 * 4;
    private const HELD_NS = 1_000_000_000;
    private const LOOK_NS = 50_000_000;

    public int $deadlineNs = 0; // absolute, as all times here; 0: stopped
    private readonly Schedule $schedule;
    private readonly array $makers;
    /** The call of each operation on each client. */
    private array $calls = [];
    private readonly Item $item;
    private readonly int $limit;
    private readonly bool $isQueue;
    private readonly bool $isDealt;
    private readonly int $thinkNs;
    private readonly int $collected;
    private $file;
    private ?int $originNs = null; // T0
    private int $number = 0;
    private int $failures = 0;
    private bool $gaveUp = false;
    private array $errors = [];
    private array $totals = ['documents' => 0, 'sum' => 0];

    public function __construct(
        private readonly array $message,
        array $session,
        private readonly int $epochNs,
    ) {
        $this->schedule = new Schedule($message['schedule'], $message['lap_step']);
        $makers = new Makers($message, $this->schedule);
        $this->makers = $makers->makers;
        $database = $session['database'];
        $retry = function (): void {
            $this->totals['retries']++;
        };
        if (in_array('transaction', array_column($makers->operations, 'kind'), true)) {
            $this->totals['retries'] = 0;
        }
        foreach ($makers->operations as $operation) {
            $bind = fn ($client) => $operation['kind'] === 'transaction'
                ? Transaction::call($client, $database, $operation, $makers->operations, $retry)
                : Target::call($client, $database, $operation);
            $this->calls[] = array_map($bind, $session['clients']);
        }
        $this->item = new Item($epochNs);
        $this->item->producer = $message['first_worker'];
        $this->limit = $message['limits'][0] ?? PHP_INT_MAX;
        $this->isQueue = in_array($message['pacing']['mode'], ['rate', 'burst'], true);
        $this->isDealt = $session['deal'] === 'operation';
        $this->thinkNs = $message['pacing']['think_ns'] ?? 0;
        $this->file = fopen($message['samples'], 'wb');
        $this->collected = gc_status()['runs'];
    }

    public function turn(): array
    {
        $beganNs = hrtime(true);
        $this->originNs ??= $beganNs;
        $this->work($beganNs);
        return [
            'began_ns' => $beganNs - $this->epochNs,
            'exhausted' => $this->number >= $this->limit,
            'gave_up' => $this->gaveUp,
        ];
    }

    private function work(int $beganNs): void
    {
        // Local variables, because a property costs a look-up each time.
        [$schedule, $makers, $item] = [$this->schedule, $this->makers, $this->item];
        [$number, $documents, $sum, $words] = [$this->number, 0, 0, []];
        [$calls, $clients, $isDealt] = [$this->calls, count($this->calls[0]), $this->isDealt];
        [$length, $limit, $isQueue] = [$schedule->records, $this->limit, $this->isQueue];
        [$epochNs, $producer, $thinkNs] = [$this->epochNs, $item->producer, $this->thinkNs];
        $dueNs = 0;
        $lastNs = $beganNs;
        $writeNs = $beganNs + self::HELD_NS;
        $lookNs = $beganNs + self::LOOK_NS;
        while ($lastNs < $this->deadlineNs && $number < $limit && !$this->gaveUp) {
            $lap = intdiv($number, $length);
            $schedule->read($item, $number % $length, $lap, $number);
            if ($isQueue) {
                $dueNs = $this->dueNs($item);
            }
            if ($dueNs > $lastNs && !$this->sleepUntil($dueNs)) {
                break; // the record is kept for the next turn
            }
            $operation = $item->operation;
            $given = $makers[$operation]($item);
            $call = $calls[$operation][$isDealt ? $number % $clients : 0];
            $fault = $answer = null;
            $startNs = hrtime(true);
            try {
                $answer = $call(...$given);
                $lastNs = hrtime(true);
            } catch (\Throwable $fault) {
                $lastNs = hrtime(true);
            }
            $outcome = 0;
            if ($fault !== null) {
                $outcome = $this->failed($fault);
            } else {
                $this->failures = 0;
                if ($answer !== null) {
                    $documents += $answer[0];
                    $sum += $answer[1];
                }
            }
            $words[] = ($isQueue ? $dueNs : $startNs) - $epochNs;
            $words[] = $startNs - $epochNs;
            $words[] = $lastNs - $startNs;
            $words[] = $number++ & 0xFFFFFFFF | $operation << 32 | $outcome << 40 | $producer << 48;
            if ($lastNs >= $writeNs || count($words) >= self::WORDS) {
                $this->write($words);
                $words = [];
                $writeNs = $lastNs + self::HELD_NS;
            }
            if ($lastNs >= $lookNs) {
                $this->look(0);
                $lookNs = $lastNs + self::LOOK_NS;
            }
            if ($thinkNs > 0) {
                $dueNs = $lastNs + $thinkNs;
            }
        }
        $this->write($words);
        $this->number = $number;
        $this->totals['documents'] += $documents;
        $this->totals['sum'] += $sum;
    }

    private function dueNs(Item $item): int
    {
        if ($this->message['pacing']['mode'] === 'burst') {
            return $this->originNs;
        }
        return $this->originNs + $item->intendedNs + $item->lap * $this->schedule->lapNs;
    }

    /** False if the turn ends before; in a turn, only the end of stdin can be read. */
    private function sleepUntil(int $dueNs): bool
    {
        while ($dueNs < $this->deadlineNs) {
            $leftNs = $dueNs - hrtime(true);
            if ($leftNs <= 0) {
                return true;
            }
            $this->look(min(intdiv($leftNs + 999, 1000), self::LOOK_NS));
        }
        return false;
    }

    private function look(int $us): void
    {
        if (Adapter::isHeard($us)) {
            exit(0); // the core has ended
        }
    }

    /** Counts the failure; returns the sample's outcome. */
    private function failed(\Throwable $fault): int
    {
        $this->failures++;
        $this->gaveUp = $this->failures >= $this->message['errors_consecutive_max'];
        ['outcome' => $outcome, 'code' => $code, 'name' => $name] = Dialect::failure($fault);
        $this->errors["$code $name"] ??= ['code' => $code, 'name' => $name, 'count' => 0,
            'message' => Adapter::told($fault)];
        $this->errors["$code $name"]['count']++;
        return $outcome;
    }

    private function write(array $words): void
    {
        $samples = pack('P*', ...$words);
        if (fwrite($this->file, $samples) !== strlen($samples)) {
            throw new \RuntimeException('the sample file takes no more');
        }
    }

    public function end(): array
    {
        fclose($this->file);
        return [
            'totals' => $this->totals,
            'errors' => array_values($this->errors),
            'runtime' => ['gc_count' => gc_status()['runs'] - $this->collected],
        ];
    }
}
