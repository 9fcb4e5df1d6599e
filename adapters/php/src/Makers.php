<?php

declare(strict_types=1);

namespace Mongodyno;

use Closure;

/** Makes what calls are given: copies of the pools' documents, and their stamps. SPEC 4 to 6. */
final class Makers
{
    /** The operations, with the documents of their options. */
    public readonly array $operations;
    /** For each operation, a function of an item: the values for a call, in their order. */
    public readonly array $makers;
    private array $pools = [];

    public function __construct(
        private readonly array $message,
        private readonly Schedule $schedule,
    ) {
        foreach ($message['pools'] as $path) {
            $this->pools[] = self::copiers(file_get_contents($path));
        }
        $this->operations = array_map($this->named(...), $message['operations']);
        $this->makers = array_map($this->maker(...), $message['operations']);
    }

    /** Options are the same for all operations. */
    private function named(array $operation): array
    {
        foreach (array_intersect(Dialect::OPTIONS, array_keys($operation)) as $name) {
            $given = $operation[$name];
            $document = $this->pools[$given['pool']][$given['document']];
            $operation[$name] = $document instanceof Closure ? $document() : $document;
        }
        return $operation;
    }

    private function maker(array $operation): Closure
    {
        $kind = $operation['kind'];
        if ($kind === 'bulk_write' || $kind === 'transaction') {
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
            return fn (Item $item) => [$build($item)];
        }
        return function (Item $item) use ($builders, $kind): array {
            $given = $kind === 'find' ? [$item->count] : [];
            foreach ($builders as $build) {
                $given[] = $build($item);
            }
            return $given;
        };
    }

    private function batchMaker(array $operation): Closure
    {
        $build = $this->builder($operation, 'documents');
        $step = $this->message['item_step'];
        $lazily = function (Item $item) use ($build, $step): \Generator {
            for ($j = 0; $j < $item->count; $j++) {
                yield $build($item);
                $item->advance($step);
            }
        };
        if ($operation['lazy'] ?? false) {
            return fn (Item $item) => [$lazily($item)];
        }
        return fn (Item $item) => [iterator_to_array($lazily($item), false)];
    }

    /** For each part of a bulk or a transaction, its operation, what that is given, its number. */
    private function parts(Item $item): array
    {
        [$parts, $part, $first] = [[], clone $item, $this->schedule->records + $item->document];
        for ($j = 0; $j < $item->count; $j++) {
            $this->schedule->read($part, $first + $j, $item->lap, $item->sequence + $j);
            $number = $part->operation;
            $parts[] = [$this->operations[$number], $this->makers[$number]($part), $number];
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

    /** A function that makes an item's document from a pool. */
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
        return function (Item $item) use ($copiers, $count, $fields, $nested): array {
            $document = $copiers[$item->document % $count];
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

    /** A function of an item, whose properties have the names of `from`. */
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
        return Dialect::encode(self::stamped($pool, $message['stamps'])($item));
    }

    private static function copiers(string $data): array
    {
        return array_map(Dialect::copier(...), Dialect::decode($data));
    }
}
