<?php

declare(strict_types=1);

namespace Mongodyno;

/** The file of a schedule, kept as bytes; a process has one worker, hence one slice. */
final class Schedule
{
    private const HEADER = 'x8/Vbytes/Vrecords/Vslices/Vparts/Plap_ns';
    private const HEADER_BYTES = 32;
    private const RECORD = 'Pintended/Pkey/Vdocument/Vcount/Coperation/Cflags';

    public readonly int $records;
    public readonly int $lapNs;
    private readonly string $data;
    private readonly int $recordBytes;
    private readonly string $form;

    public function __construct(string $path)
    {
        $this->data = file_get_contents($path);
        $header = unpack(self::HEADER, $this->data);
        [$this->records, $this->lapNs] = [$header['records'], $header['lap_ns']];
        $this->recordBytes = $header['bytes'];
        $this->form = self::RECORD . ($this->recordBytes === 48 ? '/x6/a16guid' : '');
    }

    /** The record of that number; the parts of bulks stand behind the records. */
    public function at(int $place): array
    {
        $offset = self::HEADER_BYTES + $place * $this->recordBytes;
        return unpack($this->form, $this->data, $offset);
    }
}
