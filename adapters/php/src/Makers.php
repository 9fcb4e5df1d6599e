<?php

declare(strict_types=1);

namespace Mongodyno;

use Closure;

/** Makes what calls are given: copies of the pools' documents, and their stamps. SPEC 4 to 6. */
final class Makers
{
    private array $pools = [];
    private array $made = [];

    public function __construct(
        private readonly array $message,
        private readonly Schedule $schedule,
    ) {
        foreach ($message['pools'] as $path) {
            $this->pools[] = self::copiers(file_get_contents($path));
        }
        foreach ($message['operations'] as $operation) {
            $this->made[] = $this->maker($operation);
        }
    }

    /** The values for a call, in the order of its parameters. */
    public function make(array $record, Item $item, int $lap, int $number): array
    {
        $item->lap = $lap;
        $item->sequence = $number;
        $item->shift = $record['flags'] & 1 ? $lap * $this->message['lap_step'] : 0;
        $item->key = $record['key'] + $item->shift;
        $item->guid = $record['guid'] ?? '';
        return $this->made[$record['operation']]($record, $item);
    }

    private function maker(array $operation): Closure
    {
        $kind = $operation['kind'];
        if ($kind === 'bulk_write') {
            return $this->parts(...);
        }
        if ($kind === 'insert_many' || ($kind === 'noop' && isset($operation['documents']))) {
            return $this->batchMaker($operation);
        }
        $builders = [];
        foreach (Dialect::KINDS[$kind][1] as $name) {
            if (isset($operation[$name])) {
                $builders[] = $this->builder($operation, $name);
            }
        }
        if (count($builders) === 1 && $kind !== 'find') {
            $build = $builders[0]; // most are given one document
            return fn (array $record, Item $item) => [$build($record['document'], $item)];
        }
        return function (array $record, Item $item) use ($builders, $kind): array {
            $given = $kind === 'find' ? [$record['count']] : [];
            foreach ($builders as $build) {
                $given[] = $build($record['document'], $item);
            }
            return $given;
        };
    }

    private function batchMaker(array $operation): Closure
    {
        $build = $this->builder($operation, 'documents');
        $step = $this->message['item_step'];
        $lazily = function (array $record, Item $item) use ($build, $step): \Generator {
            for ($j = 0; $j < $record['count']; $j++) {
                yield $build($record['document'] + $j, $item);
                $item->advance($step);
            }
        };
        if ($operation['lazy'] ?? false) {
            return fn (array $record, Item $item) => [$lazily($record, $item)];
        }
        return fn (array $record, Item $item) =>
            [iterator_to_array($lazily($record, $item), false)];
    }

    /** Of each part of a bulk its operation, and what that is given. */
    private function parts(array $record, Item $item): array
    {
        [$parts, $lap, $number] = [[], $item->lap, $item->sequence];
        for ($j = 0; $j < $record['count']; $j++) {
            $part = $this->schedule->at($this->schedule->records + $record['document'] + $j);
            $operation = $this->message['operations'][$part['operation']];
            $parts[] = [$operation, $this->make($part, $item, $lap, $number + $j)];
        }
        return [$parts];
    }

    private function builder(array $operation, string $name): Closure
    {
        $given = $operation[$name];
        $pool = $this->pools[$given['pool']];
        $chosen = $name === 'documents' ? $pool : [$pool[$given['document']]];
        return self::stamped($chosen, $given['stamps']);
    }

    /** A function that makes the document of that number in a pool. */
    private static function stamped(array $copiers, array $stamps): Closure
    {
        $fields = $nested = [];
        foreach ($stamps as $stamp) {
            if (count($stamp['path']) === 1) {
                $fields[$stamp['path'][0]] = self::value($stamp);
            } else {
                $nested[] = [$stamp['path'], self::value($stamp)];
            }
        }
        $count = count($copiers);
        return function (int $number, Item $item) use ($copiers, $count, $fields, $nested): array {
            $document = $copiers[$number % $count];
            if ($document instanceof Closure) {
                $document = $document();
            }
            foreach ($fields as $name => $value) {
                $document[$name] = $value($item);
            }
            foreach ($nested as [$path, $value]) {
                self::put($document, $path, $value($item));
            }
            return $document;
        };
    }

    private static function put(array|object &$container, array $path, mixed $value): void
    {
        foreach ($path as $step) {
            if (is_array($container)) {
                $container = &$container[$step];
            } else {
                $container = &$container->$step;
            }
        }
        $container = $value;
    }

    /** A function of an item, whose properties are what `from` names. */
    private static function value(array $stamp): Closure
    {
        [$from, $add] = [$stamp['from'] ?? 'key', $stamp['add'] ?? 0];
        [$prefix, $width] = [$stamp['prefix'] ?? '', $stamp['width'] ?? 0];
        return match ($stamp['as']) {
            'int32', 'int64' => fn (Item $item) => $item->$from + $add, // PHP has one type for both
            'double' => fn (Item $item) => (float) ($item->$from + $add),
            'date' => fn (Item $item) => Dialect::date($item->$from + $add),
            'string' => fn (Item $item) =>
                $prefix . str_pad((string) ($item->$from + $add), $width, '0', STR_PAD_LEFT),
            'objectid' => fn (Item $item) =>
                Dialect::objectId($prefix . sprintf('%016x', $item->$from + $add)),
            'guid' => fn (Item $item) => Dialect::guid($item->guid()),
            'guid_string' => fn (Item $item) => $item->guidString(),
        };
    }

    public static function render(array $message): string
    {
        $input = $message['input'];
        $item = new Item(0);
        foreach (['key', 'sequence', 'producer', 'shift', 'made_ns', 'time_ms'] as $name) {
            $item->$name = $input[$name] ?? 0;
        }
        $item->guid = hex2bin($input['guid'] ?? str_repeat('00', 16));
        $pool = self::copiers(hex2bin($message['template']));
        return Dialect::encode(self::stamped($pool, $message['stamps'])(0, $item));
    }

    private static function copiers(string $data): array
    {
        return array_map(Dialect::copier(...), Dialect::decode($data));
    }
}
