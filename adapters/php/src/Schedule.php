<?php

declare(strict_types=1);

namespace Mongodyno;

use function pack;
use function substr;
use function unpack;

/** The file of a schedule, kept as bytes; a process has one worker, and therefore one slice. */
final class Schedule
{
    private const HEADER = 'x8/Vbytes/Vrecords/Vslices/Vparts/Plap_ns';
    private const HEADER_BYTES = 32;
    private const GUID_BYTES = 48; // in a record that has one
    private const SHIFTS = 1 << 8; // the first of the flags, after the operation
    /**
     * Records are unpacked in blocks. One by one, each would run code that the driver has pushed
     * out of the CPU's caches since the last.
     */
    private const BLOCK = 64;

    public readonly int $records;
    public readonly int $lapNs;
    private readonly string $data;
    private readonly int $recordBytes;
    /** Words of a block, from 1 on, and the place of its first record. */
    private array $words = [];
    private int $begin = -self::BLOCK;

    public function __construct(string $path, private readonly int $lapStep)
    {
        $this->data = file_get_contents($path);
        $header = unpack(self::HEADER, $this->data);
        [$this->records, $this->lapNs] = [$header['records'], $header['lap_ns']];
        $this->recordBytes = $header['bytes'];
    }

    /** Turns the item into the record at that place; the parts of bulks follow the records. */
    public function read(Item $item, int $place, int $lap, int $number): void
    {
        if ($place < $this->begin || $place >= $this->begin + self::BLOCK) {
            $this->words = unpack('P*', substr(
                $this->data,
                self::HEADER_BYTES + $place * $this->recordBytes,
                self::BLOCK * $this->recordBytes,
            ));
            $this->begin = $place;
        }
        $words = $this->words;
        $at = 1 + ($place - $this->begin) * ($this->recordBytes >> 3);
        $documents = $words[$at + 2];
        $what = $words[$at + 3];
        $item->lap = $lap;
        $item->sequence = $number;
        $item->shift = $what & self::SHIFTS ? $lap * $this->lapStep : 0;
        $item->key = $words[$at + 1] + $item->shift;
        $item->intendedNs = $words[$at];
        $item->document = $documents & 0xFFFFFFFF;
        $item->count = $documents >> 32;
        $item->operation = $what & 0xFF;
        if ($this->recordBytes === self::GUID_BYTES) {
            $item->guid = pack('P2', $words[$at + 4], $words[$at + 5]);
        }
    }
}
