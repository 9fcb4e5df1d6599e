<?php

declare(strict_types=1);

namespace Mongodyno;

/** An operation of the schedule: the values that its stamps take. One object serves all in turn. */
final class Item
{
    public int $key = 0;
    public int $sequence = 0;
    public int $producer = 0;
    public int $shift = 0;
    public string $guid = '';
    public int $lap = 0;
    public int $intendedNs = 0;
    public int $document = 0;
    public int $count = 0;
    public int $operation = 0;
    public int $made_ns;
    public int $time_ms;

    public function __construct(private readonly int $epochNs)
    {
        unset($this->made_ns, $this->time_ms); // __get reads them, each time
    }

    public function __get(string $name): int
    {
        return match ($name) {
            'made_ns' => hrtime(true) - $this->epochNs,
            'time_ms' => (int) (microtime(true) * 1000),
        };
    }

    /** The shift of section 5, XORed into the record's guid. */
    public function guid(): string
    {
        return $this->guid ^ pack('Vx8V', $this->shift & 0xFFFFFFFF, $this->shift >> 32);
    }

    public function guidString(): string
    {
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($this->guid()), 4));
    }

    public function advance(int $step): void
    {
        $this->key += $step;
        $this->shift += $step;
        $this->sequence++;
        $this->document++;
    }
}
